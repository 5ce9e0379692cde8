/** Rows of a list: an icon, a title with a line below, and something at the end. */

import type { ComponentChildren } from "preact";
import { Icon, type IconName } from "./icons";

export function List({ label, children }: { label?: string; children: ComponentChildren }) {
  return (
    <ul class="list" aria-label={label}>
      {children}
    </ul>
  );
}

interface RowProps {
  readonly title: ComponentChildren;
  readonly about?: ComponentChildren;
  readonly icon?: IconName;
  /** With an address the whole row is a link. */
  readonly href?: string;
  /** A short word about the state, beside the title. */
  readonly tag?: ComponentChildren;
  readonly end?: ComponentChildren;
}

export function Row({ title, about, icon, href, tag, end }: RowProps) {
  const body = (
    <>
      {icon && <Icon name={icon} />}
      <span class="row-text">
        <span class="row-title">{title}</span>
        {tag}
        {about && <span class="row-about">{about}</span>}
      </span>
      {href && <Icon name="right" />}
    </>
  );
  return (
    <li class="row">
      {href ? (
        <a class="row-body" href={href}>
          {body}
        </a>
      ) : (
        <div class="row-body">{body}</div>
      )}
      {end && <div class="row-end">{end}</div>}
    </li>
  );
}
