/** A chart whose drawing library is loaded only when the first chart is shown. Its room is kept free until then. */

import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { ChartProps } from "./chart";

/** In pixels. */
const LEGEND_HEIGHT = 30;
const BUTTONS_HEIGHT = 44;

export function LazyChart({ height = 220, ...props }: Omit<ChartProps, "height"> & { readonly height?: number }) {
  const [Chart, setChart] = useState<ComponentType<ChartProps> | null>(null);
  useEffect(() => {
    void import("./chart").then(({ Chart: loaded }) => setChart(() => loaded));
  }, []);
  return Chart ? <Chart height={height} {...props} /> : <div style={{ height: `${height + LEGEND_HEIGHT + (props.zoom ? BUTTONS_HEIGHT : 0)}px` }} />;
}
