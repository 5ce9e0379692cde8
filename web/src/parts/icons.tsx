/** All icons, drawn on a grid of 24 with a line of 1.75. Each is decoration: the text beside it says the same. */

const DRAWINGS = {
  home: "M4 11.5 12 5l8 6.5M6 10v9h12v-9M10 19v-5h4v5",
  console: "M4 6h16v12H4zM4 10h16M8 14h3M8 3v3M16 3v3",
  code: "m8 8-4 4 4 4M16 8l4 4-4 4M13.5 6l-3 12",
  person: "M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8ZM5 20c.6-3.6 3.4-5.5 7-5.5s6.4 1.9 7 5.5",
  people: "M9 11a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7ZM3 19c.5-3.2 2.8-5 6-5s5.5 1.8 6 5M15.5 4.300a3.5 3.5 0 0 1 0 6.400M17.5 14.300c2 .7 3.2 2.3 3.5 4.7",
  lamp: "M9 18h6M10 21h4M8.5 15.500C6.9 14.3 6 12.6 6 10.500a6 6 0 0 1 12 0c0 2.1-.9 3.8-2.5 5v2.500h-7v-2.500Z",
  plug: "M8 3v5M16 3v5M5.5 8h13v3a6.5 6.5 0 0 1-13 0V8ZM12 17.500V21",
  shutter: "M4 4h16v16H4zM4 8h16M4 12h16M4 16h16",
  thermostat: "M10 14V5a2 2 0 1 1 4 0v9a4 4 0 1 1-4 0ZM12 9v8",
  scene: "m12 4 2.3 4.9 5.2.7-3.8 3.7.9 5.300L12 16.100l-4.6 2.5.9-5.300L4.5 9.600l5.2-.7L12 4Z",
  energy: "M13 3 6 13.500h5L10.5 21 18 10.500h-5.200L13 3Z",
  remote: "M8 3h8v18H8zM12 7v.01M10.5 12h3M10.5 15h3",
  door: "M6 21V4.500L15 3v18M15 5h3v16M4 21h16M12 12v1",
  camera: "M4 8h3l1.5-2.500h7L17 8h3v11H4zM12 16.500a3 3 0 1 0 0-6 3 3 0 0 0 0 6Z",
  exit: "M4 5h16v11H4zM8 20h8M12 16v4M9 8.500h3.500l1.5 2h2M11 8.5 9.5 13M12.5 8.5 12 13",
  battery: "M3 8h15v8H3zM18 11h3v2h-3M6 11v2M9 11v2",
  star: "m12 4 2.3 4.9 5.2.7-3.8 3.7.9 5.300L12 16.100l-4.6 2.5.9-5.300L4.5 9.600l5.2-.7L12 4Z",
  search: "M10.5 17a6.5 6.5 0 1 0 0-13 6.5 6.5 0 0 0 0 13ZM15.5 15.5 20 20",
  history: "M4 5v5h5M4.6 10A8 8 0 1 1 4 13M12 8v4.500l3 2",
  settings: "M5 7h9M18 7h1M5 12h2M11 12h8M5 17h7M16 17h3M14 5v4M7 10v4M12 15v4",
  bell: "M6 16V11a6 6 0 1 1 12 0v5l1.5 2h-15L6 16ZM10 20.500h4",
  key: "M8 15a4 4 0 1 0 0-8 4 4 0 0 0 0 8ZM12 11h8v3M17 11v2.5",
  add: "M12 5v14M5 12h14",
  minus: "M5 12h14",
  close: "m6 6 12 12M18 6 6 18",
  check: "m5 12.5 4.5 4.500L19 7.5",
  warning: "M12 4 2.8 20h18.400L12 4ZM12 10v4.500M12 17v.01",
  left: "m14.5 5-7 7 7 7",
  right: "m9.5 5 7 7-7 7",
  up: "m5 14.5 7-7 7 7",
  down: "m5 9.5 7 7 7-7",
  out: "M14 5h5v5M19 5l-8 8M17 13v6H5V7h6",
  link: "M10 14a4 4 0 0 0 5.700 0l3-3A4 4 0 0 0 13 5.300l-1.200 1.200M14 10a4 4 0 0 0-5.700 0l-3 3A4 4 0 0 0 11 18.700l1.200-1.200",
  copy: "M9 9h11v11H9zM5 15H4V4h11v1",
  trash: "M5 7h14M9 7V4h6v3M7 7l1 13h8l1-13M10.5 11v5M13.5 11v5",
  refresh: "M19 5v5h-5M18.4 10A7.5 7.5 0 1 0 19 14",
  offline: "M4 4l16 16M8.5 15a5 5 0 0 1 6.5-.5M5 11.500a10 10 0 0 1 4-2.400M19 11.500a10 10 0 0 0-6-2.900M12 19v.01",
} as const;

export type IconName = keyof typeof DRAWINGS;

export function Icon({ name }: { name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 24 24" aria-hidden="true" focusable="false">
      <path d={DRAWINGS[name]} />
    </svg>
  );
}
