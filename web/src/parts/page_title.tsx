/** The heading of a page. The title of the document says it too (WCAG 2.4.2). */

import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";

/** The heading of the shown page, and the page above it, if there is one. Empty while the page is loaded. */
export const pageTitle = signal<readonly string[]>([]);

interface PageTitleProps {
  readonly words: string;
  /** The name of the page above it, such as the home of a room. */
  readonly of?: string | undefined;
}

export function PageTitle({ words, of }: PageTitleProps) {
  useEffect(() => {
    const title = of ? [words, of] : [words];
    pageTitle.value = title;
    return () => {
      if (pageTitle.value === title) pageTitle.value = [];
    };
  }, [words, of]);
  return <h1>{words}</h1>;
}
