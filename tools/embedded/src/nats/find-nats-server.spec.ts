import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Source } from '../process/cached-binary'
import { findNatsServer } from './find-nats-server'
import { fromRelease, natsVersion } from './release'

let room: string
beforeEach(() => {
  room = mkdtempSync(join(tmpdir(), 'find-nats-'))
})
afterEach(() => rmSync(room, { recursive: true }))

/** Writes a program that prints a version as nats-server does. */
function fakeServer(folder: string, version: string): string {
  mkdirSync(folder, { recursive: true })
  const path = join(folder, 'nats-server')
  writeFileSync(path, `#!/bin/sh\necho "nats-server: v${version}"\n`, { mode: 0o755 })
  return path
}

const env = (path: string) => ({ PATH: path, LEADWIRE_CACHE: join(room, 'cache') })
const gives = (name: string, version: string, calls: string[]): Source => ({
  name,
  get: async (folder) => {
    calls.push(name)
    return fakeServer(folder, version)
  },
})
const refuses = (name: string, calls: string[]): Source => ({
  name,
  get: async (folder) => {
    calls.push(name)
    writeFileSync(join(folder, 'half'), '')
    throw new Error(`${name} is out of reach\nand more`)
  },
})

describe('findNatsServer', () => {
  test('returns the program on PATH', async () => {
    const path = fakeServer(join(room, 'bin'), '2.9.10')
    expect(await findNatsServer(env(join(room, 'bin')), undefined, [])).toBe(path)
  })

  test.each(['2.9.9', '2.8.4', '1.4.1'])('skips %s on PATH, which is too old', async (version) => {
    fakeServer(join(room, 'bin'), version)
    const calls: string[] = []
    const found = await findNatsServer(env(join(room, 'bin')), undefined, [gives('release', '2.15.0', calls)])
    expect(found).toBe(join(room, 'cache/nats-server'))
  })

  test('tries the sources in order, caches the first result, and tries none the next time', async () => {
    const calls: string[] = []
    const said: string[] = []
    const sources = [refuses('release', calls), gives('apt', '2.9.10', calls), gives('go', '2.15.0', calls)]
    const say = (line: string) => said.push(line)
    const found = await findNatsServer(env(''), say, sources)
    expect(found).toBe(join(room, 'cache/nats-server'))
    expect(await findNatsServer(env(''), say, sources)).toBe(found)
    expect(calls).toEqual(['release', 'apt'])
    expect(said).toHaveLength(2)
    expect(readdirSync(join(room, 'cache'))).toEqual(['.nats-server.lock', 'nats-server'])
  })

  test('concurrent calls fetch once', async () => {
    const calls: string[] = []
    const sources = [gives('release', '2.15.0', calls)]
    const found = await Promise.all([1, 2, 3].map(() => findNatsServer(env(''), undefined, sources)))
    expect(new Set(found).size).toBe(1)
    expect(calls).toEqual(['release'])
  })

  test('fails with what to install and the error of each source, and leaves no incomplete files', async () => {
    const calls: string[] = []
    const search = findNatsServer(env(''), undefined, [
      refuses('release', calls),
      gives('apt', '2.2.0', calls),
    ])
    const { message } = await search.then(
      () => new Error('it was found'),
      (error: Error) => error,
    )
    expect(message).toContain('Install it (https://nats.io/download')
    expect(message).toContain(
      '\n  - PATH: not found\n  - release: release is out of reach\n  - apt: the program',
    )
    expect(readdirSync(join(room, 'cache'))).toEqual(['.nats-server.lock'])
  })
})

describe('fromRelease', () => {
  const platform = `${process.platform}-${process.arch === 'x64' ? 'amd64' : process.arch}`
  const name = `nats-server-v${natsVersion}-${platform}`
  let server: Server

  async function publish(): Promise<{ address: string; sum: string }> {
    fakeServer(join(room, name), natsVersion)
    execFileSync('tar', ['-czf', 'release.tar.gz', name], { cwd: room })
    const archive = execFileSync('cat', [join(room, 'release.tar.gz')])
    server = createServer((request, response) => {
      if (request.url === `/v${natsVersion}/${name}.tar.gz`)
        response.writeHead(302, { location: '/stored' }).end()
      else if (request.url === '/stored') response.end(archive)
      else response.writeHead(404).end()
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    return { address, sum: createHash('sha256').update(archive).digest('hex') }
  }
  afterEach(() => server?.close())

  test('unpacks an archive with the published SHA-256', async () => {
    const { address, sum } = await publish()
    const binary = await fromRelease(room, { address, sums: { [platform]: sum } })
    expect(execFileSync(binary, ['--version']).toString()).toContain(natsVersion)
  })

  test('rejects any other archive', async () => {
    const { address } = await publish()
    const sums = { [platform]: '0'.repeat(64) }
    await expect(fromRelease(room, { address, sums })).rejects.toThrow('expected 0000')
  })

  test('rejects a missing release', async () => {
    const { address } = await publish()
    const taken = fromRelease(room, { address: `${address}/elsewhere`, sums: { [platform]: '0' } })
    await expect(taken).rejects.toThrow('responded with 404')
  })
})
