import { readFileSync } from 'node:fs'
import { connect } from 'node:tls'
import { createAuthority, eventually, writeAuthorities, writeCertificate } from '@leadwire/test-kit'
import { type Stage, startStage, type Tenant } from '../../support/stage'

let stage: Stage
let tenant: Tenant
beforeAll(async () => {
  stage = await startStage({ tls: true })
  tenant = await stage.newTenant()
})
afterAll(() => stage.stop())

const TEXT = 'Three windows, one door.'

const attachText = (reference: string) =>
  tenant.send('POST', `/leads/${reference}/attachments`, {
    multipart: [
      { name: 'name', value: 'Survey' },
      { name: 'file', value: TEXT, fileName: 'survey.txt', type: 'text/plain' },
    ],
  })

const attachedText = async (reference: string) => {
  const [file] = await tenant.send<{ url: string }[]>('GET', `/leads/${reference}/attachments`)
  return (await tenant.client.request('GET', file!.url)).text
}

test('a lead is created, its webhook arrives, and a file is uploaded and downloaded', async () => {
  const { receiver } = await tenant.listen()
  const { reference } = await tenant.createLead()
  await eventually(() => expect(receiver.requests).toHaveLength(1))
  await attachText(reference)
  expect(await attachedText(reference)).toBe(TEXT)
})

/** Returns the addresses at which services accept internal calls: two for gRPC, and one for HTTP. */
const doors = () =>
  stage.system.services.flatMap(({ grpc, http }) => grpc ?? (http === null ? [] : new URL(http).host))

/** Returns whether the service at `door` responds to a client with this certificate, or without one. */
const answers = (door: string, shown: { cert?: string | Buffer; key?: string | Buffer }): Promise<boolean> =>
  new Promise((resolve) => {
    const [host, port] = door.split(':')
    const ca = readFileSync(stage.system.tls!.files.caFile)
    const socket = connect({ host, port: Number(port), ca, ALPNProtocols: ['h2', 'http/1.1'], ...shown })
    socket.on('data', () => socket.destroy()).once('data', () => resolve(true))
    socket.on('error', () => undefined).on('close', () => resolve(false))
    // An HTTP/2 server sends first. An HTTP/1.1 server sends only after a request.
    if (!stage.system.services.some(({ grpc }) => grpc === door))
      socket.write('GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n')
  })

const ownCertificate = () => {
  const { certFile, keyFile } = stage.system.tls!.files
  return { cert: readFileSync(certFile), key: readFileSync(keyFile) }
}

test('services respond only to each other, except for their health', async () => {
  const stranger = await (await createAuthority()).issue('stranger')
  expect(doors()).toHaveLength(3)
  for (const door of doors()) {
    expect(await answers(door, ownCertificate())).toBe(true)
    expect(await answers(door, {})).toBe(false)
    expect(await answers(door, stranger)).toBe(false)
    const inTheClear = await fetch(`http://${door}/healthz`).catch(() => undefined)
    expect(inTheClear).toBeUndefined()
  }
  for (const { health } of stage.system.services)
    await eventually(async () => expect((await fetch(`${health}/readyz`)).status).toBe(200))
})

test('certificates and their authority are replaced under load, and no request fails', async () => {
  const { receiver } = await tenant.listen()
  let isOver = false
  let created = 0
  const load = async () => {
    while (!isOver) {
      const { reference } = await tenant.createLead()
      created += 1
      await attachText(reference)
      expect(await attachedText(reference)).toBe(TEXT)
    }
  }
  const loads = [load(), load()]
  const { folder, authority } = stage.system.tls!
  const before = ownCertificate()
  const next = await createAuthority()
  const names = stage.system.services.map(({ name }) => name)
  const replaced = () =>
    names.map(
      (name) => stage.system.logs(name).filter(({ msg }) => msg === 'certificates were replaced').length,
    )
  const everywhere = async (times: number) => {
    const done = created
    await eventually(() => expect(replaced()).toEqual(names.map(() => times)))
    await eventually(() => expect(created).toBeGreaterThan(done + 4))
  }
  await Promise.race([
    Promise.all(loads),
    (async () => {
      await writeAuthorities(folder, [authority, next])
      await everywhere(1)
      await writeCertificate(folder, await next.issue('next'))
      await everywhere(2)
      await writeAuthorities(folder, [next])
      await everywhere(3)
    })(),
  ])
  isOver = true
  await Promise.all(loads)
  for (const door of doors()) {
    expect(await answers(door, ownCertificate())).toBe(true)
    expect(await answers(door, before)).toBe(false)
  }
  // A restarted service reads the new certificate and connects with it.
  await stage.system.restart('leads-service')
  await eventually(() => tenant.createLead().then(() => ++created))
  const failed = stage.system.logs().filter(({ level }) => level === 'error')
  expect(failed).toEqual([])
  await eventually(() => expect(receiver.requests).toHaveLength(created))
})
