/** Whether the window has a property of CSS, such as a width. A component that asks is drawn again when the answer changes. */

import { useEffect, useState } from "preact/hooks";

export function useMedia(condition: string): boolean {
  const [holds, setHolds] = useState(() => matchMedia(condition).matches);
  useEffect(() => {
    const list = matchMedia(condition);
    const look = (): void => setHolds(list.matches);
    look();
    list.addEventListener("change", look);
    return () => list.removeEventListener("change", look);
  }, [condition]);
  return holds;
}
