import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile, rm } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { eventually, freePort, startReceiver } from '@leadwire/test-kit'
import { parse } from 'yaml'
import { createClient } from '../../support/client'
import { openFolder } from '../../support/open-folder'
import { LEAD } from '../../support/stage'

const STACK = resolve(__dirname, '../../../embedded/dist/main.js')
const COMMAND_LINE = resolve(__dirname, '../../../leadwire/dist/main.js')

/** Starts a proxy that records the first bytes of each connection, and closes it. */
const startDeadProxy = async () => {
  const seen: string[] = []
  const server = createServer((socket) => {
    socket.on('error', () => undefined)
    socket.once('data', (bytes) => {
      seen.push(bytes.toString('latin1'))
      socket.destroy()
    })
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return { url, seen, stop: () => once(server.close(), 'close') }
}

test('neither the parts of a stack nor commands use the proxy of the environment for each other', async () => {
  const [proxy, receiver] = [await startDeadProxy(), await startReceiver()]
  const data = await openFolder('leadwire-proxies-')
  const names = ['http_proxy', 'https_proxy', 'all_proxy', 'grpc_proxy']
  const proxies = names.flatMap((name) => [name, name.toUpperCase()]).map((name) => [name, proxy.url])
  const env = {
    ...process.env,
    no_proxy: '',
    NO_PROXY: '',
    NODE_USE_ENV_PROXY: '1',
    ...Object.fromEntries(proxies),
    LEADWIRE_DATA: data,
    PORT: String(await freePort()),
  }
  const minio = process.env['LEADWIRE_TEST_MINIO']
  const options = ['--webhook-url', receiver.url, ...(minio ? ['--minio'] : [])]
  const stack = spawn(process.execPath, [STACK, ...options], { env: { ...env, MINIO_BIN: minio } })
  const ended = once(stack, 'close')
  try {
    let output = ''
    for (const stream of [stack.stdout, stack.stderr])
      stream.on('data', (chunk) => {
        output += chunk
      })
    await eventually(() => {
      expect(proxy.seen).toEqual([])
      expect(output).toContain('Ctrl-C stops everything')
    })
    const { base_url, token } = JSON.parse(await readFile(join(data, 'dev.json'), 'utf8'))
    const client = createClient(base_url, { token })
    const created = await client.request<{ data: { reference: string } }>('POST', '/leads', { json: LEAD })
    const { reference } = created.json.data
    const attached = await client.request('POST', `/leads/${reference}/attachments`, {
      multipart: [
        { name: 'name', value: 'Survey' },
        { name: 'file', value: 'measured', fileName: 'survey.txt', type: 'text/plain' },
      ],
    })
    expect([created.status, attached.status]).toEqual([200, 200])
    await eventually(() => expect(receiver.requests).toHaveLength(1))
    await client.close()
    const run = (...args: string[]) => promisify(execFile)(process.execPath, [COMMAND_LINE, ...args], { env })
    expect((await run('accounts', 'list', '--json')).stdout).toContain('Demo')
    expect((await run('reconcile', '--full', '--json')).stdout).toContain('"unexplained_count":0')
    expect(proxy.seen).toEqual([])
  } finally {
    stack.kill('SIGINT')
    await ended
    await Promise.all([proxy.stop(), receiver.stop(), rm(data, { recursive: true })])
  }
})

test.each(['compose.yaml', 'compose.tls.yaml'])('the health checks of %s use no proxy', async (name) => {
  const file = parse(await readFile(resolve(__dirname, '../../../../deploy', name), 'utf8'), { merge: true })
  const checks = Object.values<{ healthcheck?: { test: string[] } }>(file.services).flatMap(
    ({ healthcheck }) => (healthcheck ? [healthcheck.test.join(' ')] : []),
  )
  const asking = checks.filter((check) => /wget|curl/.test(check))
  expect(asking).not.toEqual([])
  for (const check of asking) expect(check).toMatch(/ wget -Y off | curl --noproxy \* /)
})
