/**
 * Combines the writes of one turn of the event loop. Call `flush` before the process exits to write the rest.
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
