/** Browsers start the download soon after the click. Then the file is not needed in the page any more. */
const KEPT_FOR = 60_000;

/** Let the browser keep the content as a file. */
export function saveFile(name: string, content: Blob | string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([content]));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), KEPT_FOR);
}
