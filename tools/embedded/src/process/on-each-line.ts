import type { Readable } from 'node:stream'

/**
 * Calls `onLine` with each line of a UTF-8 stream, without its line end. Also calls it with a last line that
 * has no line end. This is faster than Node's readline.
 */
export function onEachLine(stream: Readable, onLine: (line: string) => void): void {
  let rest = ''
  stream.setEncoding('utf8')
  stream.on('data', (text: string) => {
    const lines = text.split('\n')
    lines[0] = rest + lines[0]
    rest = lines.pop()!
    for (const line of lines) onLine(line)
  })
  stream.on('end', () => {
    if (rest !== '') onLine(rest)
  })
}
