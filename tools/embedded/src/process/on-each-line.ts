import type { Readable } from 'node:stream'

/** Calls with each line of a stream of UTF-8, without its end; the last one needs none. Node's readline does more for each. */
export function onEachLine(stream: Readable, onLine: (line: string) => void): void {
  let begun = ''
  stream.setEncoding('utf8')
  stream.on('data', (text: string) => {
    const lines = text.split('\n')
    lines[0] = begun + lines[0]
    begun = lines.pop()!
    for (const line of lines) onLine(line)
  })
  stream.on('end', () => {
    if (begun !== '') onLine(begun)
  })
}
