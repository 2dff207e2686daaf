import type { Logger } from './logger'

const WINDOW_MS = 60_000
/** How many kinds of failures are counted at once. Further kinds are logged without a limit. */
const MAX_COUNTED = 100

type Fields = { err: unknown } & Record<string, unknown>

/** Returns a text that is the same for two failures that differ only in ids and numbers. */
const describeFailure = ({ err, ...fields }: Fields, line: string): string => {
  const { code, message } = err instanceof Error ? (err as NodeJS.ErrnoException) : { message: String(err) }
  const reason = code ?? message.replace(/\d+/g, '#')
  const isShared = ([name, value]: [string, unknown]) => typeof value === 'string' && !name.endsWith('_id')
  const others = Object.entries(fields).filter(isShared)
  return JSON.stringify([line, reason, others])
}

/**
 * Logs failures that may repeat many times a second, such as each poll of an unavailable database. The
 * first failure is logged in full. Similar failures are counted for a minute, and then logged as one line
 * with `repeats`, without ids and stack.
 */
export const limitRepeats = (logger: Logger, windowMs = WINDOW_MS) => {
  const counts = new Map<string, number>()

  const log = (level: 'warn' | 'error', fields: Fields, line: string): void => {
    const failure = describeFailure(fields, line)
    const repeats = counts.get(failure)
    if (repeats !== undefined) {
      counts.set(failure, repeats + 1)
      return
    }
    logger[level](fields, line)
    if (counts.size < MAX_COUNTED) startWindow(failure, level, fields, line)
  }

  const startWindow = (failure: string, level: 'warn' | 'error', fields: Fields, line: string): void => {
    counts.set(failure, 0)
    const reason = fields.err instanceof Error ? fields.err.message : fields.err
    const endWindow = () => {
      const repeats = counts.get(failure)
      counts.delete(failure)
      if (!repeats) return
      logger[level]({ reason, repeats }, line)
      startWindow(failure, level, fields, line)
    }
    setTimeout(endWindow, windowMs).unref()
  }

  return {
    warn: (fields: Fields, line: string): void => log('warn', fields, line),
    error: (fields: Fields, line: string): void => log('error', fields, line),
  }
}

export type RepeatLimit = ReturnType<typeof limitRepeats>
