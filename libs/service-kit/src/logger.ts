import { destination, type Logger, pino, stdTimeFunctions } from 'pino'

export type { Logger }

// What one turn writes beyond it goes at once.
const GATHERED_BYTES = 8192

/** Standard output, to which the lines of one turn of the event loop go with one write: each woke the reader. */
const openOutput = () => {
  const output = destination({ dest: 1, sync: true, minLength: GATHERED_BYTES })
  let due = false
  const flushSync = () => {
    due = false
    output.flushSync()
  }
  process.on('exit', flushSync)
  return {
    write: (line: string): void => {
      output.write(line)
      if (!due) setImmediate(flushSync)
      due = true
    },
    /** pino calls it after a fatal line. */
    flushSync,
  }
}

let output: ReturnType<typeof openOutput> | undefined

/** JSON lines on standard output. Tokens and secrets are cut out wherever they are logged by these names. */
export const createLogger = (options: { service: string; level: string }): Logger => {
  output ??= openOutput()
  return pino(
    {
      level: options.level,
      base: { service: options.service, pid: process.pid },
      timestamp: stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      redact: [
        'token',
        'secret',
        '*.token',
        '*.secret',
        'req.headers.authorization',
        'headers.authorization',
      ],
    },
    output,
  )
}
