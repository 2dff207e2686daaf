import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { natsOptions } from '@leadwire/settings'
import {
  createAuthority,
  eventually,
  startNats,
  writeAuthorities,
  writeCertificate,
} from '@leadwire/test-kit'
import { connect } from '@nats-io/transport-node'
import { createLifecycle } from '../process/lifecycle'
import type { Logger } from '../process/logger'
import { connectNats } from './connect-nats'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'leadwire-nats-tls-'))
})
afterAll(() => rm(folder, { recursive: true }))

const issueCertificate = async (name: string) => {
  const authority = await createAuthority()
  const caFile = await writeAuthorities(join(folder, name), [authority])
  return { ...(await writeCertificate(join(folder, name), await authority.issue(name))), caFile }
}

test('a server is trusted by the authorities that are named, and is not asked without TLS', async () => {
  const [tls, other] = [await issueCertificate('ours'), await issueCertificate('another')]
  const encrypted = await startNats({ tls })
  const plain = await startNats()
  try {
    const client = await connect(natsOptions({ NATS_URL: encrypted.url, NATS_CA_FILE: encrypted.caFile }))
    expect(client.info).toMatchObject({ tls_required: true })
    await client.close()
    await expect(
      connect(natsOptions({ NATS_URL: encrypted.url, NATS_CA_FILE: other.caFile })),
    ).rejects.toThrow()
    await expect(connect(natsOptions({ NATS_URL: encrypted.url }))).rejects.toThrow()
    await expect(connect(natsOptions({ NATS_URL: plain.url.replace('nats:', 'tls:') }))).rejects.toThrow(
      'tls',
    )
  } finally {
    await encrypted.stop()
    await plain.stop()
  }
})

test('a connection comes back to a server with a certificate of another authority when its file names that one', async () => {
  const tls = await issueCertificate('replaced')
  const logger = { warn: () => undefined } as unknown as Logger
  const lifecycle = createLifecycle(logger)
  const nats = await startNats({ tls })
  try {
    const config = { NATS_URL: nats.url, NATS_CA_FILE: nats.caFile }
    const connection = await connectNats({ config, name: 'spec', logger, lifecycle })
    const seen: string[] = []
    const statuses = connection.status()
    void (async () => {
      for await (const { type } of statuses) seen.push(type)
    })()
    const next = await createAuthority()
    await writeCertificate(join(folder, 'replaced'), await next.issue('next'))
    await nats.restart()
    await eventually(() => expect(seen.filter((type) => type === 'reconnecting').length).toBeGreaterThan(9))
    expect(seen).not.toContain('reconnect')
    await writeAuthorities(join(folder, 'replaced'), [next])
    await eventually(() => connection.rtt())
    expect(connection.info).toMatchObject({ tls_required: true })
  } finally {
    await lifecycle.stop()
    await nats.stop()
  }
})

test('a connection whose password is refused for a while comes back, and its log says so once', async () => {
  const warnings: object[] = []
  const logger = { warn: (fields: object) => warnings.push(fields) } as unknown as Logger
  const lifecycle = createLifecycle(logger)
  const nats = await startNats()
  try {
    const connection = await connectNats({ config: { NATS_URL: nats.url }, name: 'spec', logger, lifecycle })
    let refusals = 0
    const statuses = connection.status()
    void (async () => {
      for await (const { type } of statuses) if (type === 'error') refusals += 1
    })()
    await nats.restart({ password: 'another' })
    await eventually(() => expect(refusals).toBeGreaterThan(3))
    expect(warnings).toEqual([
      { nats: 'disconnect' },
      { nats: 'error', err: expect.objectContaining({ message: 'Authorization Violation' }) },
    ])
    await nats.restart()
    await eventually(() => connection.rtt())
    await eventually(() => expect(warnings.at(-1)).toEqual({ nats: 'reconnect' }))
  } finally {
    await lifecycle.stop()
    await nats.stop()
  }
})
