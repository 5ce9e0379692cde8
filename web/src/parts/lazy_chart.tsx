/** A chart whose drawing library is loaded only when the first chart is shown. */

import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { ChartProps } from "./chart";

export function LazyChart(props: ChartProps) {
  const [Chart, setChart] = useState<ComponentType<ChartProps> | null>(null);
  useEffect(() => {
    void import("./chart").then(({ Chart: loaded }) => setChart(() => loaded));
  }, []);
  return Chart && <Chart {...props} />;
}
