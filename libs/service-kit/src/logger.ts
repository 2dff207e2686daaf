import { type Logger, pino, stdTimeFunctions } from 'pino'

export type { Logger }

/** JSON lines on standard output. Tokens and secrets are cut out wherever they are logged by these names. */
export const createLogger = (options: { service: string; level: string }): Logger =>
  pino({
    level: options.level,
    base: { service: options.service, pid: process.pid },
    timestamp: stdTimeFunctions.isoTime,
    formatters: { level: (label) => ({ level: label }) },
    redact: ['token', 'secret', '*.token', '*.secret', 'req.headers.authorization', 'headers.authorization'],
  })
