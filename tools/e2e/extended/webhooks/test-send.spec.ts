import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer, type ServerOptions } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createAuthority } from '@leadwire/test-kit'
import { type Stage, startStage, type Tenant } from '../../support/stage'

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

/** Sends a test event to a receiver with these TLS settings, and returns the attempt. */
const attemptAt = async (settings: ServerOptions) => {
  const server = createServer(settings, (_request, response) => response.end())
  server.on('tlsClientError', () => undefined)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  try {
    const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}/`
    const { id } = await tenant.send('POST', '/manage/webhook-endpoints', { json: { url } })
    const { attempt } = await tenant.send<Tested>('POST', `/manage/webhook-endpoints/${id}/test`)
    return attempt
  } finally {
    server.closeAllConnections()
    server.close()
  }
}

test.each([
  ['a valid one', {}, null],
  ['an expired one', { until: new Date('2026-01-01T00:00:00Z') }, 'The certificate has expired.'],
  ['one for another name', { host: 'other.example' }, 'The certificate is for another host name.'],
  ['a self-signed one', { isSelfSigned: true }, 'The certificate is self-signed.'],
  [
    'one of an authority that may not issue certificates',
    { isIndirect: true },
    'The certificate chain is longer than one of its authorities permits.',
  ],
])('a test send reports the error of a certificate: %s', async (_, flaws, reason) => {
  const attempt = await attemptAt(await authority.issue('receiver', flaws))
  expect(attempt).toMatchObject({ error: reason && 'tls', reason })
})

test.each([
  'TLSv1.3',
  'TLSv1.2',
] as const)('a test send reports that the receiver requires a client certificate (%s)', async (version) => {
  const issued = await authority.issue('receiver')
  const attempt = await attemptAt({
    ...issued,
    ca: authority.cert,
    requestCert: true,
    maxVersion: version,
  })
  const reason =
    version === 'TLSv1.3'
      ? 'The receiver requires a client certificate. Leadwire does not send client certificates.'
      : 'The TLS handshake failed: ERR_SSL_SSLV3_ALERT_HANDSHAKE_FAILURE.'
  expect(attempt).toMatchObject({ error: 'tls', reason })
})
