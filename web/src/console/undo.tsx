/** A notice about a change, with a button that undoes it. The API answers a change with the former values. */

import { useState } from "preact/hooks";
import { api } from "../app/api";
import { t } from "../app/i18n";
import { Button } from "../parts/button";
import { Notice } from "../parts/notice";

interface Done {
  readonly words: string;
  readonly undo: () => Promise<unknown>;
}

export interface Undo {
  /** Change the object at the path, and remember its former values. */
  readonly change: (path: string, body: object, words: string) => Promise<void>;
  /** Remember a change that is already made. */
  readonly remember: (done: Done) => void;
  readonly done: Done | null;
  readonly undo: () => Promise<void>;
}

export function useUndo(onChanged: () => Promise<unknown>): Undo {
  const [done, setDone] = useState<Done | null>(null);
  return {
    done,
    remember: setDone,
    change: async (path, body, words) => {
      const { former } = await api.patch<{ former: object }>(path, body);
      setDone({ words, undo: () => api.patch(path, former) });
      await onChanged();
    },
    undo: async () => {
      await done?.undo();
      setDone(null);
      await onChanged();
    },
  };
}

export function UndoNotice({ of: { done, undo } }: { of: Undo }) {
  if (!done) return null;
  return (
    <Notice title={done.words}>
      <Button look="quiet" onClick={undo}>
        {t("console.undo")}
      </Button>
    </Notice>
  );
}
