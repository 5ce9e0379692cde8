declare module "*.toml" {
  const texts: Readonly<Record<string, string>>;
  export default texts;
}

declare module "*.svg" {
  const url: string;
  export default url;
}
