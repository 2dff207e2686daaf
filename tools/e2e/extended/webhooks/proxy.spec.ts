import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  type ConnectProxy,
  createAuthority,
  eventually,
  startConnectProxy,
  startReceiver,
} from '@leadwire/test-kit'
import { type Stage, startStage, type Tenant } from '../../support/stage'

interface Attempt {
  status: number | null
  error: string | null
  reason: string | null
}

const PASSWORD = 'a-pass-of-the-proxy'

let folder: string
let authority: Awaited<ReturnType<typeof createAuthority>>
let proxy: ConnectProxy
let stage: Stage
let tenant: Tenant
beforeAll(async () => {
  ;[folder, authority] = await Promise.all([mkdtemp(join(tmpdir(), 'leadwire-ca-')), createAuthority('Spec')])
  const NODE_EXTRA_CA_CERTS = join(folder, 'ca.pem')
  await writeFile(NODE_EXTRA_CA_CERTS, authority.cert)
  proxy = await startConnectProxy({
    credentials: `leadwire:${PASSWORD}`,
    tls: await authority.issue('proxy', { host: 'localhost' }),
  })
  stage = await startStage({
    env: { NODE_EXTRA_CA_CERTS, WEBHOOK_PROXY: proxy.url, WEBHOOK_RETRY_SCHEDULE: '100ms,100ms' },
  })
  tenant = await stage.newTenant()
})
beforeEach(() => {
  proxy.answerWith('tunnel')
  proxy.targets.splice(0)
})
afterAll(async () => {
  await stage.stop()
  await proxy.stop()
  await rm(folder, { recursive: true })
})

const testSend = async (url: string) => {
  const { id } = await tenant.send('POST', '/manage/webhook-endpoints', { json: { url } })
  return tenant.send<{ id: number; status: string; attempt: Attempt }>(
    'POST',
    `/manage/webhook-endpoints/${id}/test`,
  )
}

test('through a proxy the certificate of the receiver must match the host name of the URL', async () => {
  const tls = await authority.issue('receiver', { host: 'localhost' })
  const server = createServer(tls, (request, response) => response.end(request.headers.host))
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  try {
    const { attempt } = await testSend(`https://localhost:${port}/`)
    expect(attempt).toMatchObject({ status: 200, error: null, response: `localhost:${port}` })
    expect(proxy.targets).toContain(`127.0.0.1:${port}`)
    for (const target of proxy.targets) expect(target).not.toContain('localhost')
    expect((await testSend(`https://127.0.0.1:${port}/`)).attempt).toMatchObject({
      error: 'tls',
      reason: 'The certificate is for another host name.',
    })
  } finally {
    server.closeAllConnections()
    server.close()
  }
})

test('a webhook that the proxy refuses is retried, and the proxy credentials appear nowhere', async () => {
  const receiver = await startReceiver()
  let refusals = 0
  proxy.answerWith((target) => (target.endsWith(`:${receiver.port}`) && refusals++ === 0 ? 407 : 'tunnel'))
  try {
    const { id } = await testSend(receiver.url)
    const delivery = await eventually(async () => {
      const found = await tenant.send<{ status: string; attempts: Attempt[] }>(
        'GET',
        `/manage/deliveries/${id}`,
      )
      expect(found.status).toBe('delivered')
      return found
    })
    expect(delivery.attempts).toMatchObject([
      { status: null, error: 'proxy', reason: 'The proxy responded to CONNECT with 407.' },
      { status: 200, error: null, reason: null },
    ])
    const seen = JSON.stringify([delivery, stage.system.logs(), receiver.requests])
    expect(seen).toContain('The proxy responded to CONNECT with 407')
    for (const secret of [PASSWORD, Buffer.from(`leadwire:${PASSWORD}`).toString('base64').slice(0, -2)])
      expect(seen).not.toContain(secret)
  } finally {
    await receiver.stop()
  }
})
