// As our services write them: what is cut out is what pino puts first and last. A quote inside a value is escaped, so
// the last `,"msg":"` is the line's own; an error is left to the formatter that gives its stack lines of their own.
const LINE = /^\{"level":"(\w+)","time":"([^"]+)","service":"[^"]*","pid":\d+(?:,(.*))?,"msg":"([^"\\]*)"\}$/

/**
 * Formats a line of pino's as pino-pretty does without colours, but without parsing it: a log of an attempt for each
 * webhook costs a twentieth so. Undefined for a line of any other form, and for one that tells of an error.
 */
export function createPlainFormat(): (line: string) => string | undefined {
  let second = ''
  let clock = ''
  // Local time; what it is at one second serves for all of its lines.
  const clockAt = (time: string) => {
    if (!time.startsWith(second) || second === '') {
      second = time.slice(0, 19)
      clock = new Date(time).toTimeString().slice(0, 8)
    }
    return `${clock}.${time.slice(20, 23)}`
  }
  return (line) => {
    const found = LINE.exec(line)
    const [, level, time, rest, message] = found ?? []
    if (!found || rest?.includes('"err":{')) return undefined
    return `[${clockAt(time!)}] ${level!.toUpperCase()}: ${message}${rest ? ` {${rest}}` : ''}\n`
  }
}
