/**
 * Gathers what is written in one turn of the event loop into one write. `flush` writes what is left, before the
 * process exits.
 */
export function writeTogether(write: (text: string) => void): {
  write: (text: string) => void
  flush: () => void
} {
  let gathered = ''
  const flush = () => {
    const text = gathered
    gathered = ''
    if (text !== '') write(text)
  }
  return {
    write: (text) => {
      if (gathered === '') setImmediate(flush)
      gathered += text
    },
    flush,
  }
}
