import { execFile } from 'node:child_process'
import { openAsBlob } from 'node:fs'
import { mkdir, mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { promisify } from 'node:util'
import { gzipSync } from 'node:zlib'
import { createLeadwire, type Leadwire, type LeadwireProblem } from '@leadwire/client'
import { build } from 'esbuild'
import { joinStage, LEAD, type SharedStage } from '../../support/stage'

const run = promisify(execFile)

let stage: SharedStage
let leadwire: Leadwire
let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'leadwire-client-'))
  stage = await joinStage()
})
beforeEach(async () => {
  const { token } = await stage.newTenant()
  leadwire = createLeadwire({ baseUrl: stage.system.baseUrl, token })
})
afterAll(async () => {
  await stage.stop()
  await rm(folder, { recursive: true })
})

const NEW = { ...LEAD, referrer: 'Website', status: 'open' } as const

test('a lead is created, retrieved, updated, listed, and gets an appointment and a callback', async () => {
  const { leads, api } = leadwire
  const lead = await leads.create(NEW)
  expect(await leads.retrieve(lead.reference)).toEqual(lead)
  expect(await leads.update(lead.reference, { value: 4500 })).toMatchObject({ value: 4500 })
  expect(await leads.statuses()).toContain('sold')
  const { data } = await api.POST('/manage/users', { body: { email: 'u@example.com', name: 'U' } })
  const entry = { notify: false, user_id: data!.data.id, date: '01/02/2027 10:00' }
  const expected = { lead_reference: lead.reference, date: '2027-02-01T10:00:00.000000Z' }
  const appointment = await leads.scheduleAppointment(lead.reference, entry)
  const callback = await leads.scheduleCallback(lead.reference, entry)
  expect([appointment, callback]).toMatchObject([expected, expected])
  const later = { date: '02/02/2027 10:00' }
  const moved = { date: '2027-02-02T10:00:00.000000Z', cancelled_at: null }
  expect(await leads.rescheduleAppointment(lead.reference, appointment.id, later)).toMatchObject(moved)
  expect(await leads.rescheduleCallback(lead.reference, callback.id, later)).toMatchObject(moved)
  const cancelled = { cancelled_at: expect.any(String) }
  expect(await leads.cancelAppointment(lead.reference, appointment.id)).toMatchObject(cancelled)
  expect(await leads.cancelCallback(lead.reference, callback.id, { notify: true })).toMatchObject(cancelled)
  expect(await leads.page(1)).toMatchObject({ total: 1, data: [{ reference: lead.reference }] })
})

test('an update of an outdated version is refused', async () => {
  const { reference } = await leadwire.leads.create(NEW)
  const { lead, etag } = await leadwire.leads.retrieveWithEtag(reference)
  expect(lead.status).toBe('open')
  await leadwire.leads.update(reference, { status: 'sold' }, { ifMatch: etag })
  const late = leadwire.leads.update(reference, { status: 'lost' }, { ifMatch: etag })
  await expect(late).rejects.toMatchObject({ status: 412, kind: 'precondition-failed' })
  expect((await leadwire.leads.retrieve(reference)).status).toBe('sold')
})

test('one idempotency key creates one lead', async () => {
  const idempotencyKey = 'one'
  const created = await Promise.all([0, 1, 2].map(() => leadwire.leads.create(NEW, { idempotencyKey })))
  expect(new Set(created.map(({ reference }) => reference)).size).toBe(1)
})

test('an error has the kind and the invalid fields of the problem', async () => {
  const postcode = 'nowhere'
  const refused = leadwire.leads.create({ ...NEW, postcode }).catch((error: LeadwireProblem) => error)
  expect(await refused).toMatchObject({
    kind: 'invalid',
    status: 422,
    errors: { postcode: [expect.any(String)] },
    requestId: expect.any(String),
  })
  for (const reference of ['', 'statuses', '00000000-0000-4000-8000-000000000000'])
    await expect(leadwire.leads.retrieve(reference)).rejects.toMatchObject({ kind: 'not-found' })
})

describe('files', () => {
  const bytes = Buffer.alloc(3_000_000, 'a line of text\n')

  const comesBack = async (file: Parameters<Leadwire['leads']['attach']>[1]) => {
    const { reference } = await leadwire.leads.create(NEW)
    const attachment = await leadwire.leads.attach(reference, file)
    expect(attachment).toMatchObject({ name: file.name, file_name: file.fileName, file_size: bytes.length })
    const response = await leadwire.leads.download(reference, attachment.id)
    expect(response.headers.get('content-type')).toBe('text/plain; charset=utf-8')
    expect(Buffer.from(await response.arrayBuffer()).equals(bytes)).toBe(true)
  }

  test('are attached from a path', async () => {
    const path = join(folder, 'notes.txt')
    await writeFile(path, bytes)
    await comesBack({ name: 'Notes', fileName: 'notes.txt', content: await openAsBlob(path) })
  })

  test('are attached from a stream, with progress and a name outside ASCII', async () => {
    const sent: number[] = []
    const content = Readable.toWeb(Readable.from([bytes.subarray(0, 1_000_000), bytes.subarray(1_000_000)]))
    await comesBack({
      name: 'Notes',
      fileName: 'Küche – Maße.txt',
      content: content as ReadableStream<Uint8Array>,
      onProgress: (count) => sent.push(count),
    })
    expect(sent).toEqual([1_000_000, bytes.length])
  })
})

test('the package works as an ES module and in CommonJS, and is smaller than 10 kB', async () => {
  const packageFolder = join(__dirname, '../../../../libs/client')
  const env = { ...process.env, npm_config_cache: join(folder, 'npm') }
  await run('npm', ['pack', '--silent', `--pack-destination=${folder}`], { cwd: packageFolder, env })
  const [archive] = (await readdir(folder)).filter((name) => name.endsWith('.tgz'))
  const installed = join(folder, 'node_modules/@leadwire/client')
  await mkdir(installed, { recursive: true })
  await run('tar', ['-xzf', join(folder, archive!), '--strip-components=1', '-C', installed])
  for (const name of ['openapi-fetch', 'openapi-typescript-helpers'])
    await symlink(join(__dirname, '../../../../node_modules', name), join(folder, 'node_modules', name))

  const { token } = await stage.newTenant()
  const use = `createLeadwire({ baseUrl: ${JSON.stringify(stage.system.baseUrl)}, token: ${JSON.stringify(token)} })
    .leads.statuses().then((statuses) => console.log(statuses.length))`
  await writeFile(join(folder, 'use.mjs'), `import { createLeadwire } from '@leadwire/client'\n${use}`)
  await writeFile(join(folder, 'use.cjs'), `const { createLeadwire } = require('@leadwire/client')\n${use}`)
  for (const file of ['use.mjs', 'use.cjs'])
    expect((await run(process.execPath, [file], { cwd: folder })).stdout).toBe('13\n')

  const typed = `import { createLeadwire } from '@leadwire/client'
export const users = createLeadwire({ baseUrl: '', token: '' }).api.GET('/manage/users')
export const name = async (): Promise<string | undefined> => (await users).data?.data[0]?.name
// @ts-expect-error there is no such path
createLeadwire({ baseUrl: '', token: '' }).api.GET('/nowhere')`
  for (const file of ['typed.mts', 'typed.cts']) await writeFile(join(folder, file), typed)
  const tsc = join(__dirname, '../../../../node_modules/.bin/tsc')
  const options = '--noEmit --strict --module nodenext --target es2022 --lib es2022,dom,dom.iterable --types'
  await run(tsc, [...options.split(' '), '', 'typed.mts', 'typed.cts'], { cwd: folder })

  const { outputFiles } = await build({
    entryPoints: [join(installed, 'dist/index.mjs')],
    bundle: true,
    minify: true,
    format: 'esm',
    write: false,
  })
  expect(gzipSync(outputFiles[0]!.contents).length).toBeLessThan(10_000)
})
