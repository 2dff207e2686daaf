import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { cacheDirectory, eventually, freePort } from '@leadwire/test-kit'
import { openFolder } from '../support/open-folder'

const ROOT = resolve(__dirname, '../../..')
const COPIED = [
  'apps',
  'libs/console/dist',
  'tools/bundle.mjs',
  'tools/embedded/dist/main.js',
  'tsconfig.base.json',
]

let copy: string
let dev: ChildProcess
afterEach(async () => {
  dev?.kill('SIGINT')
  if (dev?.exitCode === null) await once(dev, 'exit')
  await rm(copy, { recursive: true, force: true })
})

test('a service runs its changed source after each save, and continues unchanged if the source has an error', async () => {
  copy = await openFolder('leadwire-dev-')
  for (const path of COPIED) await cp(join(ROOT, path), join(copy, path), { recursive: true })
  await symlink(join(ROOT, 'node_modules'), join(copy, 'node_modules'))
  const port = String(await freePort())
  dev = spawn(process.execPath, [join(copy, 'tools/embedded/dist/main.js'), '--watch'], {
    env: {
      ...process.env,
      PORT: port,
      LEADWIRE_DATA: join(copy, 'data'),
      LEADWIRE_CACHE: cacheDirectory(process.env),
    },
  })
  let output = ''
  for (const stream of [dev.stdout!, dev.stderr!]) stream.on('data', (chunk) => (output += chunk))
  const says = (text: string) => eventually(() => expect(output).toContain(text), { timeoutMs: 100_000 })
  await says('Ctrl-C stops everything')

  const title = async () => {
    const answer = await fetch(`http://127.0.0.1:${port}/openapi.json`)
    return ((await answer.json()) as { info: { title: string } }).info.title
  }
  const source = join(copy, 'apps/gateway/src/openapi/serve-openapi.ts')
  const before = await readFile(source, 'utf8')
  expect(await title()).toBe('Leadwire')
  await writeFile(source, before.replace("title: 'Leadwire'", "title: 'Saved'"))
  await eventually(async () => expect(await title()).toBe('Saved'))

  await writeFile(source, `${before} const = 3`)
  await says('serve-openapi.ts')
  await eventually(async () => expect(await title()).toBe('Saved'))
  await writeFile(source, before)
  await eventually(async () => expect(await title()).toBe('Leadwire'))
})
