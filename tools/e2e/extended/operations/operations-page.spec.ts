import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parse } from 'yaml'

const ROOT = resolve(__dirname, '../../../..')
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8')

const PAGE = read('docs/operations.md')
const SERVICES = ['gateway', 'leads-service', 'files-service', 'webhook-service']

/** Returns the section of a heading, which ends at the next heading of the same or a higher level. */
const section = (heading: string): string => {
  const level = heading.split(' ')[0]!
  const rest = PAGE.split(`\n${heading}\n`)[1]!
  return rest.split(new RegExp(`\\n#{2,${level.length}} `))[0]!
}

const inBackquotes = (text: string) => [...text.matchAll(/`([^`]+)`/g)].map(([, name]) => name!)

/** Returns the cells of each row of all tables in a text. */
const parseRows = (text: string) =>
  text
    .split('\n')
    .filter((line) => /^\| (?!-)/.test(line))
    .map((line) => line.split(' | ').map((cell) => cell.replace(/^\| | \|$/g, '')))

const sourcesBelow = (folder: string) =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter(
      (file) => /(?<!\.spec|\.fixture|\.d)\.ts$/.test(file) && !/(^|\/)(dist|node_modules)\//.test(file),
    )
    .map((file) => read(join(folder, file)))

describe('settings', () => {
  const settingsIn = (path: string) => [
    ...new Set([...read(path).matchAll(/^ +([A-Z][A-Z0-9]*_?[A-Z0-9_]*):/gm)].map(([, name]) => name!)),
  ]
  const listDocumented = (heading: string) =>
    parseRows(section(heading)).flatMap(([name]) => inBackquotes(name!))

  const shared = [
    'settings/src/config',
    'settings/src/tls-settings',
    'service-kit/src/security/service-token',
  ].flatMap((name) => settingsIn(`libs/${name}.ts`))
  const forAll = () => [...listDocumented('### All services'), ...listDocumented('## Traces')]

  test('the shared settings are documented', () => {
    expect(shared).not.toEqual([])
    expect(shared.filter((name) => !forAll().includes(name))).toEqual([])
  })

  test.each(SERVICES)('exactly the settings of %s are documented', (service) => {
    const path = `apps/${service}/src/config.ts`
    const kit = 'libs/service-kit/src/grpc/service-settings.ts'
    const own = [path, ...(read(path).includes('grpcServiceSettings') ? [kit] : [])].flatMap(settingsIn)
    const here = listDocumented(`### ${service}`)
    expect(own.filter((name) => !here.includes(name) && !forAll().includes(name))).toEqual([])
    expect(here.filter((name) => !own.includes(name))).toEqual([])
  })

  const compose = (path: string): Record<string, Record<string, string>> => {
    const { services } = parse(read(path), { merge: true })
    return Object.fromEntries(SERVICES.map((service) => [service, services[service].environment]))
  }
  const [plain, tls] = ['deploy/compose.yaml', 'deploy/compose.tls.yaml'].map(compose)
  // The settings that compose does not pass on. The image or `npm start` sets some of these settings. The
  // others select another way to authenticate with the stores. Compose needs no other way, because it runs
  // the stores itself.
  const notInCompose = [
    ...[...read('deploy/Dockerfile').matchAll(/\b([A-Z_]+)=/g)].map(([, name]) => name!),
    'SERVICE_AUTH',
    'DATABASE_PASSWORD',
    'DATABASE_PASSWORD_COMMAND',
    'NATS_CREDENTIALS',
    'NATS_NKEY',
    'READY_MARKER',
  ]

  test.each(SERVICES)('compose passes on the settings of %s', (service) => {
    const passed = Object.keys({ ...plain![service], ...tls![service] })
    const all = [...listDocumented(`### ${service}`), ...forAll()].filter(
      (name) => !notInCompose.includes(name),
    )
    expect(all.filter((name) => !passed.includes(name) && !passed.includes(`${name}_FILE`))).toEqual([])
  })

  test('compose requires the public address, and says where to set it', () => {
    const required = /^\$\{PUBLIC_URL:\?set it in deploy\/\.env to the address that clients use[^}]*\}/
    expect(plain!['gateway']!['PUBLIC_URL']).toMatch(required)
    expect(plain!['leads-service']!['ASSETS_URL']).toMatch(required)
    expect(read('deploy/.env.example')).toMatch(/^PUBLIC_URL=http/m)
  })

  test('.env.example has every variable that compose reads', () => {
    const example = [...read('deploy/.env.example').matchAll(/^#?([A-Z0-9_]+)=/gm)].map(([, name]) => name!)
    const taken = [...JSON.stringify(plain).matchAll(/\$\{([A-Z0-9_]+)/g)].map(([, name]) => name!)
    expect(taken).not.toEqual([])
    expect(taken.filter((name) => !example.includes(name))).toEqual([])
  })
})

describe('lines at warn and above', () => {
  const documented = parseRows(section('### Lines at warn and above'))
    .slice(1)
    .flatMap(([levels, lines]) =>
      inBackquotes(lines!).flatMap((line) => levels!.split(', ').map((level) => `${level} ${line}`)),
    )

  // Maps each logging call whose level or text is not a literal to the lines that it logs.
  const SAID: Record<string, string[]> = {
    'fatal event': ['fatal uncaughtException', 'fatal unhandledRejection'],
    'warn error.detail': ['warn detail'],
    'warn thrown.message': ['warn detail'],
    // This call logs a line that its caller passes. The call in the caller is matched separately.
    '[level] line': [],
    // This call logs only at the levels debug and info.
    "[level] 'request'": [],
  }
  const BEGINS = /(?<!console)(?:\.(warn|error|fatal)|(\[level\]))\(/
  const CALL = new RegExp(`${BEGINS.source}(?:[^;]*?[,\\s])??('[^'\\n]+'|[a-z.]+),?\\s*\\)`, 'g')
  const sources = ['apps', 'libs/service-kit/src'].flatMap(sourcesBelow)
  const calls = sources.flatMap((text) => [...text.matchAll(CALL)])
  const logged = calls
    .map(([, level, open, line]) => `${level ?? open} ${line}`)
    .flatMap((call) => SAID[call] ?? [call.replaceAll("'", '')])

  test('are documented', () => {
    expect(calls).toHaveLength(sources.flatMap((text) => [...text.matchAll(new RegExp(BEGINS, 'g'))]).length)
    expect(logged.filter((line) => !documented.includes(line))).toEqual([])
  })

  test('exist if they are documented', () => {
    expect(documented.filter((line) => !logged.includes(line))).toEqual([])
  })
})
