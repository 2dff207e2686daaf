import { readFileSync, statSync } from 'node:fs'
import { isIP } from 'node:net'
import { bool, cleanEnv, EnvMissingError, host, makeValidator, port, type Spec, str } from 'envalid'
import { version } from '../package.json'

export { bool, host, makeValidator, port, type Spec, str }

/** The version of Leadwire, as in the User-Agent of webhooks and in the OpenAPI document. */
export const VERSION: string = version

export class ConfigError extends Error {
  override readonly name = 'ConfigError'
  constructor(readonly errors: Record<string, string>) {
    super(
      Object.entries(errors)
        .map((nameAndError) => nameAndError.join(': '))
        .join('\n'),
    )
  }
}

const UNITS: Record<string, number> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }

// PostgreSQL has no time before 4713 BC, and Date none after the year 275760.
const MAX_DAYS = 36_500

/** Milliseconds of `500ms`, `10s`, `5m`, `1h`, `30d`. Throws a TypeError, also for more than `36500d`. */
export const parseDuration = (text: string): number => {
  const match = /^(\d+)(ms|s|m|h|d)$/.exec(text.trim())
  if (!match) throw new TypeError(`"${text}" is no duration such as 500ms, 10s, 5m, 1h`)
  const ms = Number(match[1]) * UNITS[match[2]!]!
  if (ms > MAX_DAYS * UNITS['d']!) throw new TypeError(`"${text}" is more than ${MAX_DAYS}d`)
  return ms
}

export const parseList = (text: string): string[] =>
  text
    .trim()
    .split(/\s*,\s*/)
    .filter(Boolean)

/** An address or a CIDR range. */
export const isRange = (entry: string): boolean => {
  const [address = '', bits, ...rest] = entry.split('/')
  const widest = { 0: -1, 4: 32, 6: 128 }[isIP(address)] ?? -1
  return (
    widest > 0 && rest.length === 0 && (bits === undefined || (/^\d+$/.test(bits) && Number(bits) <= widest))
  )
}

export const entriesOf = (isEntry: (entry: string) => boolean, expected: string) =>
  makeValidator<string[]>((text) => {
    const entries = parseList(text)
    const wrong = entries.filter((entry) => !isEntry(entry))
    if (wrong.length > 0) throw new TypeError(`no ${expected}: ${wrong.join(', ')}`)
    return entries
  })

/** In milliseconds. */
const duration = (least: string, most?: string) =>
  makeValidator<number>((text) => {
    const ms = parseDuration(text)
    if (ms < parseDuration(least)) throw new TypeError(`"${text}" is less than ${least}`)
    if (most && ms > parseDuration(most)) throw new TypeError(`"${text}" is more than ${most}`)
    return ms
  })

/** How long an attempt may take. */
export const timeout = duration('100ms', '1h')

/** How long rows are kept. Longer than the stream keeps an event: a redelivered one must be known. */
export const retention = duration('2h')

export const logLevel = () =>
  str({ default: 'info', choices: ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] })

/** One that may be absent. */
export const secret = () => str({ default: undefined }) as Spec<string | undefined>

const collectorUrl = makeValidator<string | undefined>((text) => {
  if (URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)) return text
  throw new TypeError(`"${text}" is no address such as http://collector:4318`)
})

/** Where traces are sent, such as http://collector:4318. Without it there are none. OpenTelemetry reads its other settings. */
export const traceSettings = () => ({
  OTEL_EXPORTER_OTLP_ENDPOINT: collectorUrl({ default: undefined }),
  OTEL_EXPORTER_OTLP_HEADERS: secret(),
})

export const count = (spec: { default?: number | undefined; min?: number; max?: number } = {}) => {
  const { min = 1, max = 999_999, ...rest } = spec
  return makeValidator<number>((text) => {
    const number = Number(text)
    if (/^\d{1,15}$/.test(text) && number >= min && number <= max) return number
    throw new TypeError(`"${text}" is no whole number from ${min} to ${max}`)
  })(rest as { default: number })
}

export const timeZone = makeValidator<string>(
  (text) => new Intl.DateTimeFormat('en', { timeZone: text }).resolvedOptions().timeZone && text,
)

export const poolSize = () => count({ default: 10, max: 1000 })

// envalid's own message for a missing setting is its description, or the word "undefined" without one.
const errorOf = (error: Error): string =>
  error instanceof EnvMissingError
    ? `is missing: ${error.message}`.replace(/: undefined$/, '')
    : error.message

const MAX_FILE_BYTES = 64 * 1024

/**
 * The setting, or the text of the file that `NAME_FILE` names: `docker inspect` shows an environment. An empty variable counts as
 * unset: compose files and charts pass `NAME=`. Throws a TypeError.
 */
export const settingOf = (env: NodeJS.ProcessEnv, name: string): string | undefined => {
  const file = env[`${name}_FILE`]
  if (!file) return env[name] || undefined
  if (env[name]) throw new TypeError(`is set twice, by ${name}_FILE too`)
  try {
    const stat = statSync(file)
    if (!stat.isFile() || stat.size > MAX_FILE_BYTES)
      throw new TypeError(`${file} is no file of at most ${MAX_FILE_BYTES} bytes`)
    const text = readFileSync(file, 'utf8').replace(/\r?\n$/, '')
    if (text === '') throw new TypeError(`${file} is empty`)
    return text
  } catch (error) {
    throw new TypeError(`${name}_FILE can't be read: ${(error as Error).message}`)
  }
}

export const isSet = (env: NodeJS.ProcessEnv, name: string): boolean =>
  Boolean(env[name] || env[`${name}_FILE`])

/** What `read` returns; undefined where it throws. */
export const whenValid = <T>(read: () => T): T | undefined => {
  try {
    return read()
  } catch {
    return undefined
  }
}

export const settingBeside = (env: NodeJS.ProcessEnv, name: string): string =>
  whenValid(() => settingOf(env, name)) ?? ''

/** The port of /healthz, /readyz and /metrics, not that of the server at `other`. */
export const healthPort = (env: NodeJS.ProcessEnv, other: string, otherDefault?: number) => {
  const spec = port()
  return makeValidator<number>((text) => {
    const number = spec._parse(text)
    if (number === Number(settingBeside(env, other) || otherDefault))
      throw new TypeError(`${number} is the port of ${other}, too`)
    return number
  })()
}

/** A value, or what is asked for it each time it is needed: a setting in a file changes while the service runs. */
export type Live<T> = T | (() => T)

export const current = <T>(live: Live<T>): T => (live instanceof Function ? live() : live)

const readOnce = <T extends object>(
  env: NodeJS.ProcessEnv,
  specs: { [K in keyof T]: Spec<T[K]> },
): Readonly<T> => {
  const errors: Record<string, string> = {}
  const given: NodeJS.ProcessEnv = {}
  for (const name of Object.keys(specs)) {
    try {
      const value = settingOf(env, name)
      if (value !== undefined) given[name] = value
    } catch (error) {
      errors[name] = (error as TypeError).message
    }
  }
  return cleanEnv<T>(given, specs as never, {
    reporter: ({ errors: malformed }) => {
      for (const [name, error] of Object.entries(malformed as Record<string, Error>))
        errors[name] ??= errorOf(error)
      if (Object.keys(errors).length > 0) throw new ConfigError(errors)
    },
  }) as Readonly<T>
}

/**
 * Throws a ConfigError that names every missing or malformed setting. A setting in a file is read again whenever the result is asked
 * for it; while the file can't be read, or holds nothing valid, the last value stays.
 */
export const readConfig = <T extends object>(
  env: NodeJS.ProcessEnv,
  specs: { [K in keyof T]: Spec<T[K]> },
): Readonly<T> => {
  const config = { ...readOnce(env, specs) }
  for (const name of Object.keys(specs).filter((each) => env[`${each}_FILE`]) as (keyof T)[]) {
    let [value, warned] = [config[name], '']
    const get = () => {
      try {
        value = readOnce<Pick<T, typeof name>>(env, { [name]: specs[name] } as never)[name]
      } catch (error) {
        const { message } = error as ConfigError
        if (message !== warned) process.emitWarning(message)
        warned = message
      }
      return value
    }
    Object.defineProperty(config, name, { get, enumerable: true })
  }
  return config
}
