import { readFileSync, statSync } from 'node:fs'
import { isIP } from 'node:net'
import { bool, cleanEnv, EnvMissingError, host, makeValidator, port, type Spec, str } from 'envalid'
import { version } from '../package.json'

export { bool, host, makeValidator, port, type Spec, str }

/** The version of Leadwire, as in the User-Agent of webhooks and in the OpenAPI document. */
export const VERSION: string = version

/** Thrown for invalid settings. `errors` maps the name of each invalid setting to its error. */
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

// The maximum duration. The current time plus or minus a duration must be a date that PostgreSQL (from
// 4713 BC) and Date (until the year 275760) can represent.
const MAX_DAYS = 36_500

/**
 * Returns the milliseconds of a duration such as `500ms`, `10s`, `5m`, `1h` or `30d`. Throws a TypeError for
 * any other text, and for more than `36500d`.
 */
export const parseDuration = (text: string): number => {
  const match = /^(\d+)(ms|s|m|h|d)$/.exec(text.trim())
  if (!match) throw new TypeError(`"${text}" is not a duration such as 500ms, 10s, 5m, 1h`)
  const ms = Number(match[1]) * UNITS[match[2]!]!
  if (ms > MAX_DAYS * UNITS['d']!) throw new TypeError(`"${text}" is more than ${MAX_DAYS}d`)
  return ms
}

/** Returns the non-empty entries of a comma-separated list. */
export const parseList = (text: string): string[] =>
  text
    .trim()
    .split(/\s*,\s*/)
    .filter(Boolean)

/** Returns whether `entry` is an IP address or a CIDR range. */
export const isRange = (entry: string): boolean => {
  const [address = '', bits, ...rest] = entry.split('/')
  const widest = { 0: -1, 4: 32, 6: 128 }[isIP(address)] ?? -1
  return (
    widest > 0 && rest.length === 0 && (bits === undefined || (/^\d+$/.test(bits) && Number(bits) <= widest))
  )
}

/**
 * Returns a validator of comma-separated lists. `expected` describes a valid entry in errors, such as "an IP
 * address".
 */
export const makeListValidator = (isEntry: (entry: string) => boolean, expected: string) =>
  makeValidator<string[]>((text) => {
    const entries = parseList(text)
    const invalid = entries.filter((entry) => !isEntry(entry))
    if (invalid.length > 0) throw new TypeError(`not ${expected}: ${invalid.join(', ')}`)
    return entries
  })

/** Returns a validator of durations from `least` to `most`. The value of the setting is in milliseconds. */
const duration = (least: string, most?: string) =>
  makeValidator<number>((text) => {
    const ms = parseDuration(text)
    if (ms < parseDuration(least)) throw new TypeError(`"${text}" is less than ${least}`)
    if (most && ms > parseDuration(most)) throw new TypeError(`"${text}" is more than ${most}`)
    return ms
  })

/** The time limit of an attempt. */
export const timeout = duration('100ms', '1h')

/**
 * How long rows are kept, at least 2 h. The stream keeps a message for one hour, and the row of the message
 * must exist until then. Otherwise a redelivered message would not be recognised.
 */
export const retention = duration('2h')

export const logLevel = () =>
  str({ default: 'info', choices: ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] })

/** An optional secret. */
export const secret = () => str({ default: undefined }) as Spec<string | undefined>

const collectorUrl = makeValidator<string | undefined>((text) => {
  if (URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)) return text
  throw new TypeError(`"${text}" is not an address such as http://collector:4318`)
})

/**
 * The settings of the collector of traces. Without OTEL_EXPORTER_OTLP_ENDPOINT, no traces are made.
 * OpenTelemetry reads all other settings itself.
 */
export const traceSettings = () => ({
  OTEL_EXPORTER_OTLP_ENDPOINT: collectorUrl({ default: undefined }),
  OTEL_EXPORTER_OTLP_HEADERS: secret(),
})

/** Returns a validator of whole numbers from `min` to `max`. */
export const count = (spec: { default?: number | undefined; min?: number; max?: number } = {}) => {
  const { min = 1, max = 999_999, ...rest } = spec
  return makeValidator<number>((text) => {
    const number = Number(text)
    if (/^\d{1,15}$/.test(text) && number >= min && number <= max) return number
    throw new TypeError(`"${text}" is not a whole number from ${min} to ${max}`)
  })(rest as { default: number })
}

/** The name of an IANA time zone. */
export const timeZone = makeValidator<string>((text) => {
  // PostgreSQL reads the sign of an offset the other way round.
  if (/^[+-]/.test(text))
    throw new TypeError(`"${text}" is an offset. Use the name of a time zone, such as Europe/London`)
  // Throws a RangeError that names an unknown time zone.
  new Intl.DateTimeFormat('en', { timeZone: text })
  return text
})

export const poolSize = () => count({ default: 10, max: 1000 })

// envalid's message for a missing setting is the setting's description, or "undefined" if it has none.
const describeError = (error: Error): string =>
  error instanceof EnvMissingError
    ? `is missing: ${error.message}`.replace(/: undefined$/, '')
    : error.message

const MAX_FILE_BYTES = 64 * 1024

/**
 * Returns the value of a setting, or the content of the file that `NAME_FILE` names. Files keep secrets out
 * of the environment, which `docker inspect` shows. An empty variable counts as unset, because compose files
 * and charts pass `NAME=`. Throws a TypeError if both are set, or if the file can't be read.
 */
export const readSetting = (env: NodeJS.ProcessEnv, name: string): string | undefined => {
  const file = env[`${name}_FILE`]
  if (!file) return env[name] || undefined
  if (env[name]) throw new TypeError(`is set twice: remove ${name} or ${name}_FILE`)
  try {
    const stat = statSync(file)
    if (!stat.isFile() || stat.size > MAX_FILE_BYTES)
      throw new TypeError(`${file} is not a file of at most ${MAX_FILE_BYTES} bytes`)
    const text = readFileSync(file, 'utf8').replace(/\r?\n$/, '')
    if (text === '') throw new TypeError(`${file} is empty`)
    return text
  } catch (error) {
    throw new TypeError(`${name}_FILE can't be read: ${(error as Error).message}`)
  }
}

export const isSet = (env: NodeJS.ProcessEnv, name: string): boolean =>
  Boolean(env[name] || env[`${name}_FILE`])

/** Returns the result of `read`, or undefined if `read` throws. */
export const whenValid = <T>(read: () => T): T | undefined => {
  try {
    return read()
  } catch {
    return undefined
  }
}

/**
 * Returns a setting on which the check of another setting depends. Returns `''` if the setting is missing or
 * unreadable.
 */
export const readRelatedSetting = (env: NodeJS.ProcessEnv, name: string): string =>
  whenValid(() => readSetting(env, name)) ?? ''

/**
 * Returns a validator of the port of /healthz, /readyz and /metrics. This port must differ from the port in
 * the setting `other`.
 */
export const healthPort = (env: NodeJS.ProcessEnv, other: string, otherDefault?: number) => {
  const spec = port()
  return makeValidator<number>((text) => {
    const number = spec._parse(text)
    if (number === Number(readRelatedSetting(env, other) || otherDefault))
      throw new TypeError(`${number} is also the port of ${other}`)
    return number
  })()
}

/**
 * A value, or a function that returns the current value. A setting in a file may change while the service
 * runs.
 */
export type Live<T> = T | (() => T)

/** Returns the value, or the current result of the function. */
export const current = <T>(live: Live<T>): T => (live instanceof Function ? live() : live)

const readOnce = <T extends object>(
  env: NodeJS.ProcessEnv,
  specs: { [K in keyof T]: Spec<T[K]> },
): Readonly<T> => {
  const errors: Record<string, string> = {}
  const given: NodeJS.ProcessEnv = {}
  for (const name of Object.keys(specs)) {
    try {
      const value = readSetting(env, name)
      if (value !== undefined) given[name] = value
    } catch (error) {
      errors[name] = (error as TypeError).message
    }
  }
  return cleanEnv<T>(given, specs as never, {
    reporter: ({ errors: malformed }) => {
      for (const [name, error] of Object.entries(malformed as Record<string, Error>))
        errors[name] ??= describeError(error)
      if (Object.keys(errors).length > 0) throw new ConfigError(errors)
    },
  }) as Readonly<T>
}

/**
 * Reads and validates settings. Throws a ConfigError that names every missing or invalid setting. A setting
 * in a file is read again at each access to its property. While the file can't be read or its content is
 * invalid, the property keeps its last value, and a warning names the setting once.
 */
export const readConfig = <T extends object>(
  env: NodeJS.ProcessEnv,
  specs: { [K in keyof T]: Spec<T[K]> },
): Readonly<T> => {
  const config = { ...readOnce(env, specs) }
  for (const name of Object.keys(specs).filter((each) => env[`${each}_FILE`]) as (keyof T)[]) {
    let value = config[name]
    let warned = ''
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
