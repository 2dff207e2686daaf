import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createAuthority, startNats, writeAuthorities, writeCertificate } from '@leadwire/test-kit'
import { connect } from '@nats-io/transport-node'
import { natsOptions } from '../runtime/nats-url'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'leadwire-nats-tls-'))
})
afterAll(() => rm(folder, { recursive: true }))

const tlsOf = async (name: string) => {
  const authority = await createAuthority()
  const caFile = await writeAuthorities(join(folder, name), [authority])
  return { ...(await writeCertificate(join(folder, name), await authority.issue(name))), caFile }
}

test('a server is trusted by the authorities that are named, and is not asked without TLS', async () => {
  const [tls, other] = [await tlsOf('ours'), await tlsOf('another')]
  const encrypted = await startNats({ tls })
  const plain = await startNats()
  try {
    const client = await connect(natsOptions(encrypted.url, encrypted.caFile))
    expect(client.info).toMatchObject({ tls_required: true })
    await client.close()
    await expect(connect(natsOptions(encrypted.url, other.caFile))).rejects.toThrow()
    await expect(connect(natsOptions(encrypted.url))).rejects.toThrow()
    await expect(connect(natsOptions(plain.url.replace('nats:', 'tls:')))).rejects.toThrow('tls')
  } finally {
    await encrypted.stop()
    await plain.stop()
  }
})
