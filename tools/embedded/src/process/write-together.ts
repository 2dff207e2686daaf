/**
 * Collects what is written in one turn of the event loop into one write. `flush` writes what is left, before the
 * process exits.
 */
export function writeTogether(write: (text: string) => void): {
  write: (text: string) => void
  flush: () => void
} {
  let pending = ''
  const flush = () => {
    const text = pending
    pending = ''
    if (text !== '') write(text)
  }
  return {
    write: (text) => {
      if (pending === '') setImmediate(flush)
      pending += text
    },
    flush,
  }
}
