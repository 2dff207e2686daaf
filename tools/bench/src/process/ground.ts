type Undo = () => unknown

export type Ground = {
  /** Remembers how to undo something that was begun; answers with a way to undo it earlier. */
  onLeave(undo: Undo): () => Promise<void>
  /** Undoes everything, the latest first. What fails is logged and does not keep the rest from being undone. */
  leave(): Promise<void>
  /** Whether that has begun. */
  isLeft(): boolean
}

/** What a run has begun and must not leave behind: processes, folders, connections. */
export function createGround(): Ground {
  const undos = new Set<Undo>()
  const undoOne = async (undo: Undo) => {
    if (!undos.delete(undo)) return
    try {
      await undo()
    } catch (error) {
      console.error(`tidying up: ${error instanceof Error ? error.message : error}`)
    }
  }
  // What is begun meanwhile is undone too.
  const undoAll = async () => {
    for (let last = [...undos].at(-1); last; last = [...undos].at(-1)) await undoOne(last)
  }
  let leaving: Promise<void> | undefined
  return {
    onLeave: (undo) => {
      undos.add(undo)
      return () => undoOne(undo)
    },
    leave: () => {
      leaving ??= undoAll()
      return leaving
    },
    isLeft: () => leaving !== undefined,
  }
}
