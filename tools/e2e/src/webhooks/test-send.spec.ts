import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createAuthority } from '@leadwire/test-kit'
import { type Stage, startStage, type Tenant } from '../stage.fixture'

interface Tested {
  id: number
  status: string
  lead_name: string | null
  attempt: { status: number | null; error: string | null; reason: string | null } | null
}

let folder: string
let authority: Awaited<ReturnType<typeof createAuthority>>
let stage: Stage
let tenant: Tenant
beforeAll(async () => {
  ;[folder, authority] = await Promise.all([mkdtemp(join(tmpdir(), 'leadwire-ca-')), createAuthority('Spec')])
  const NODE_EXTRA_CA_CERTS = join(folder, 'ca.pem')
  await writeFile(NODE_EXTRA_CA_CERTS, authority.cert)
  stage = await startStage({ env: { NODE_EXTRA_CA_CERTS } })
  tenant = await stage.newTenant()
})
afterAll(async () => {
  await stage.stop()
  await rm(folder, { recursive: true })
})

const testSend = (id: number) => tenant.send<Tested>('POST', `/manage/webhook-endpoints/${id}/test`)

test.each([
  [200, 'delivered', null, null],
  [302, 'pending', 'http_status', '302: redirects are not followed.'],
  [500, 'pending', 'http_status', null],
])('a test send answers how its attempt ended: %i', async (status, state, error, reason) => {
  const { receiver, id } = await tenant.listen()
  receiver.answerWith({ status, headers: { location: 'https://example.com/' } })
  const sent = await testSend(id)
  const last = { last_status: status, last_error: error }
  expect(sent).toMatchObject({ status: state, ...last, lead_name: null, attempt: { status, error, reason } })
  expect(await tenant.send('GET', `/manage/deliveries/${sent.id}`)).toMatchObject({
    ...last,
    attempts: [sent.attempt],
  })
})

test('to a disabled endpoint it has no attempt yet', async () => {
  const { id } = await tenant.listen({ enabled: false })
  expect(await testSend(id)).toMatchObject({ status: 'held', last_status: null, attempt: null })
})

test.each([
  ['a sound one', {}, null],
  ['an expired one', { until: new Date('2026-01-01T00:00:00Z') }, 'The certificate has expired.'],
  ['one for another name', { host: 'other.example' }, 'The certificate is for another host name.'],
  ['a self-signed one', { isSelfSigned: true }, 'The certificate is self-signed.'],
])('it says what is wrong with a certificate: %s', async (_, flaws, reason) => {
  const server = createServer(await authority.issue('receiver', flaws), (_request, response) =>
    response.end(),
  )
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  try {
    const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}/`
    const { id } = await tenant.send('POST', '/manage/webhook-endpoints', { json: { url } })
    const { attempt } = await testSend(id)
    expect(attempt).toMatchObject({ error: reason && 'tls', reason })
  } finally {
    server.closeAllConnections()
    server.close()
  }
})
