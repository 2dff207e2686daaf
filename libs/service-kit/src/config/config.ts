import { readFileSync } from 'node:fs'
import { bool, cleanEnv, EnvMissingError, host, makeValidator, port, type Spec, str, url } from 'envalid'

export { bool, host, makeValidator, port, type Spec, str, url }

/** All invalid settings, one line each. */
export class ConfigError extends Error {
  constructor(readonly errors: Record<string, string>) {
    super(
      Object.entries(errors)
        .map(([name, error]) => `${name}: ${error}`)
        .join('\n'),
    )
    this.name = 'ConfigError'
  }
}

const UNITS: Record<string, number> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** Milliseconds of a time such as `500ms`, `10s`, `5m`, `1h`, `30d`. Throws a TypeError for what is none. */
export const parseDuration = (text: string): number => {
  const match = /^(\d+)(ms|s|m|h|d)$/.exec(text.trim())
  const unit = UNITS[match?.[2] ?? '']
  if (!match || unit === undefined) throw new TypeError(`"${text}" is no duration such as 500ms, 10s, 5m, 1h`)
  return Number(match[1]) * unit
}

const parseList = (text: string): string[] =>
  text
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '')

/** A time such as `500ms`, `10s`, `5m`, `1h`; in milliseconds. */
export const duration = makeValidator<number>(parseDuration)

/** Times parted by commas, such as `60s,5m`; in milliseconds. */
export const durations = makeValidator<number[]>((text) => parseList(text).map(parseDuration))

const RETENTION_AT_LEAST_MS = 2 * UNITS['h']!

/** How long rows are kept, in milliseconds. Longer than the stream keeps an event: a redelivered one must be known. */
export const retention = makeValidator<number>((text) => {
  const kept = parseDuration(text)
  if (kept < RETENTION_AT_LEAST_MS) throw new TypeError(`"${text}" is less than 2h`)
  return kept
})

/** Words parted by commas. */
export const list = makeValidator<string[]>(parseList)

/** How much is logged. */
export const logLevel = () =>
  str({ default: 'info', choices: ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] })

const collectorUrl = makeValidator<string | undefined>((text) => {
  if (!URL.canParse(text) || !/^https?:$/.test(new URL(text).protocol))
    throw new TypeError(`"${text}" is no address such as http://collector:4318`)
  return text
})

export interface TraceSettings {
  OTEL_EXPORTER_OTLP_ENDPOINT: string | undefined
}

/** Where traces are sent, such as http://collector:4318. Without it there are none. OpenTelemetry reads its other settings. */
export const traceSettings = () => ({ OTEL_EXPORTER_OTLP_ENDPOINT: collectorUrl({ default: undefined }) })

/** A whole number of at least 1. */
export const count = ({
  min = 1,
  max = 999_999,
  ...spec
}: {
  default?: number | undefined
  desc?: string
  min?: number
  max?: number
} = {}) =>
  makeValidator<number>((text) => {
    const number = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN
    if (!(number >= min && number <= max))
      throw new TypeError(`"${text}" is no whole number from ${min} to ${max}`)
    return number
  })(spec as { default: number })

/** The name of a time zone, such as `Europe/London`. */
export const timeZone = makeValidator<string>(
  (text) => new Intl.DateTimeFormat('en', { timeZone: text }).resolvedOptions().timeZone && text,
)

/** How many connections to the database one copy may have. */
export const poolSize = () => count({ default: 10, max: 1000 })

// envalid's own message for a missing setting is its description, or the word "undefined" without one.
const errorOf = (error: Error): string => {
  if (!(error instanceof EnvMissingError)) return error.message
  return error.message === 'undefined' ? 'is missing' : `is missing: ${error.message}`
}

/**
 * The setting `name`, or the text of the file that `NAME_FILE` names, without its last line end. Docker, Kubernetes and systemd
 * pass secrets in files, because `docker inspect` shows an environment. An empty setting counts as unset: compose files and
 * charts pass `NAME=`. Throws a TypeError when the file can't be read, or when both are set.
 */
export const settingOf = (env: NodeJS.ProcessEnv, name: string): string | undefined => {
  const file = env[`${name}_FILE`]
  if (!file) return env[name] || undefined
  if (env[name]) throw new TypeError(`is set twice, by ${name}_FILE too`)
  try {
    return readFileSync(file, 'utf8').replace(/\r?\n$/, '') || undefined
  } catch (error) {
    throw new TypeError(`${name}_FILE can't be read: ${(error as Error).message}`)
  }
}

/** The same for a setting that another one depends on. Empty if it can't be read: its own error says so. */
export const settingBeside = (env: NodeJS.ProcessEnv, name: string): string => {
  try {
    return settingOf(env, name) ?? ''
  } catch {
    return ''
  }
}

/**
 * Reads the settings of `specs` (`settingOf`). Throws a ConfigError that names every missing or malformed one.
 */
export const readConfig = <T extends object>(
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
