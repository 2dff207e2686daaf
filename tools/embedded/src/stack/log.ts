import { prettyFactory } from 'pino-pretty'
import { createPlainFormat } from './plain-format'

export type Log = {
  /** Returns a function that writes a line of a process's output. */
  forProcess(name: string): (line: string) => void
  /** Writes a line of the stack itself. */
  say(line: string): void
}

/** Creates one readable log of many processes. */
export function createLog({
  write,
  colour,
  everything,
}: {
  write: (text: string) => void
  colour: boolean
  /** Whether to include informational lines of PostgreSQL and NATS, and the lines of MinIO. */
  everything: boolean
}): Log {
  const pretty = prettyFactory({
    colorize: colour,
    translateTime: 'SYS:HH:MM:ss.l',
    ignore: 'pid,hostname,name,service',
    singleLine: true,
    errorLikeObjectKeys: ['err'],
  })
  const plainFormat = colour ? () => undefined : createPlainFormat()
  const label = (name: string) => name.padEnd(15)
  const plain = (name: string, line: string) => write(`${label(name)} ${line}\n`)
  return {
    forProcess: (name) => (line) => {
      if (line.startsWith('{')) {
        write(`${label(name)} ${plainFormat(line) ?? pretty(line)}`)
      } else if (everything || !isChatter(name, line)) {
        plain(name, line)
      }
    },
    say: (line) => plain('leadwire', line),
  }
}

function isChatter(name: string, line: string): boolean {
  if (line.trim() === '') return true
  if (name === 'postgres') return /^(LOG: |FATAL: +the database system is (starting up|not yet))/.test(line)
  if (name === 'nats') return line.includes('[INF]')
  return name === 'minio'
}
