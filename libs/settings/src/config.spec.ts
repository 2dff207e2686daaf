import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  ConfigError,
  count,
  logLevel,
  makeValidator,
  parseDuration,
  parseList,
  poolSize,
  port,
  readConfig,
  str,
  timeout,
  timeZone,
  traceSettings,
} from './config'

const durations = makeValidator<number[]>((text) => parseList(text).map(parseDuration))
const list = makeValidator<string[]>(parseList)

test('all errors are reported at once', () => {
  const read = () =>
    readConfig(
      { PORT: '70000', TIMEOUT: 'soon', SCHEDULE: '60s,never' },
      { PORT: port(), TIMEOUT: timeout(), SCHEDULE: durations(), DATABASE_URL: str() },
    )
  expect(read).toThrow(ConfigError)
  try {
    read()
  } catch (error) {
    expect((error as ConfigError).errors).toEqual({
      DATABASE_URL: 'is missing',
      PORT: expect.stringContaining('70000'),
      SCHEDULE: expect.stringContaining('never'),
      TIMEOUT: expect.stringContaining('soon'),
    })
  }
})

test('durations, lists and defaults are read, and an empty variable counts as unset', () => {
  const config = readConfig(
    { TIMEOUT: '1500ms', SCHEDULE: '60s, 5m,1h', HOSTS: 'a.test, ,b.test', LEVEL: '' },
    { TIMEOUT: timeout(), SCHEDULE: durations(), HOSTS: list(), LEVEL: str({ default: 'info' }) },
  )
  expect(config).toMatchObject({
    TIMEOUT: 1500,
    SCHEDULE: [60_000, 300_000, 3_600_000],
    HOSTS: ['a.test', 'b.test'],
    LEVEL: 'info',
  })
})

describe('a setting in a file', () => {
  const folder = mkdtempSync(join(tmpdir(), 'leadwire-config-'))
  const file = join(folder, 'secret')
  beforeAll(() => writeFileSync(file, 'two words\n'))
  afterAll(() => rmSync(folder, { recursive: true }))
  const specs = { SECRET: str(), LEVEL: str({ default: 'info' }) }

  test('has the content of the file without the line end', () => {
    expect(readConfig({ SECRET_FILE: file, SECRET: '', LEVEL_FILE: '' }, specs)).toEqual({
      SECRET: 'two words',
      LEVEL: 'info',
    })
  })

  test('is read again at each access, and keeps its value while the file has no valid content', () => {
    const changing = join(folder, 'changing')
    const write = (text: string) => writeFileSync(changing, text)
    write('1m\n')
    const warned = jest.spyOn(process, 'emitWarning').mockReturnValue()
    const config = readConfig({ TIMEOUT_FILE: changing }, { TIMEOUT: timeout() })
    expect(config.TIMEOUT).toBe(60_000)
    write('2m')
    expect(config.TIMEOUT).toBe(120_000)
    write('soon')
    expect([config.TIMEOUT, config.TIMEOUT]).toEqual([120_000, 120_000])
    expect(warned.mock.calls).toEqual([[expect.stringMatching(/^TIMEOUT: .*soon/)]])
    rmSync(changing)
    expect(config.TIMEOUT).toBe(120_000)
    write('3m')
    expect(config).toEqual({ TIMEOUT: 180_000 })
    warned.mockRestore()
  })

  test.each([
    ['holds nothing', () => file, '\n', 'is empty'],
    ['is too big', () => file, 'x'.repeat(65_537), 'is not a file of at most 65536 bytes'],
    ['is a folder', () => folder, 'two words\n', 'is not a file of at most 65536 bytes'],
  ])('is an error if the file %s', (_, path, text, why) => {
    writeFileSync(file, text)
    const errors = { SECRET: `SECRET_FILE can't be read: ${path()} ${why}` }
    expect(() => readConfig({ SECRET_FILE: path() }, { SECRET: str() })).toThrow(
      expect.objectContaining({ errors }),
    )
    writeFileSync(file, 'two words\n')
  })

  test('is an error if the file is missing or both are set, reported together with the other errors', () => {
    const missing = join(folder, 'missing')
    try {
      readConfig({ SECRET_FILE: missing, LEVEL_FILE: file, LEVEL: 'warn' }, { ...specs, PORT: port() })
      expect('accepted').toBe('refused')
    } catch (error) {
      expect((error as ConfigError).errors).toEqual({
        SECRET: expect.stringContaining(missing),
        LEVEL: expect.stringContaining('LEVEL_FILE'),
        PORT: 'is missing',
      })
    }
  })
})

test.each([
  [{ POOL: '0' }, 'POOL'],
  [{ POOL: '1001' }, 'POOL'],
  [{ POOL: '-1' }, 'POOL'],
  [{ POOL: '2.5' }, 'POOL'],
  [{ POOL: '1e2' }, 'POOL'],
  [{ BYTES: '99' }, 'BYTES'],
  [{ BYTES: '5001' }, 'BYTES'],
  [{ LEVEL: 'loud' }, 'LEVEL'],
  [{ ZONE: 'Mars/Olympus' }, 'ZONE'],
  [{ ZONE: '+01:00' }, 'ZONE'],
])('%j is an error that names the setting', (env, name) => {
  const specs = {
    POOL: poolSize(),
    BYTES: count({ default: 100, min: 100, max: 5000 }),
    LEVEL: logLevel(),
    ZONE: timeZone({ default: 'Europe/London' }),
  }
  expect(readConfig({}, specs)).toEqual({ POOL: 10, BYTES: 100, LEVEL: 'info', ZONE: 'Europe/London' })
  try {
    readConfig(env, specs)
    expect('accepted').toBe('refused')
  } catch (error) {
    expect(Object.keys((error as ConfigError).errors)).toEqual([name])
  }
})

test('a collector URL that OpenTelemetry would ignore is an error', () => {
  expect(() => readConfig({ OTEL_EXPORTER_OTLP_ENDPOINT: 'collector:4318' }, traceSettings())).toThrow(
    expect.objectContaining({
      errors: {
        OTEL_EXPORTER_OTLP_ENDPOINT: '"collector:4318" is not an address such as http://collector:4318',
      },
    }),
  )
})
