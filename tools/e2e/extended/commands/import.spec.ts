import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { eventually, joinSystem, type SharedSystem } from '@leadwire/test-kit'

const MAIN = resolve(__dirname, '../../../leadwire/dist/main.js')

let system: SharedSystem
let folder: string

beforeAll(async () => {
  system = await joinSystem()
  folder = await mkdtemp(join(tmpdir(), 'leadwire-import-'))
})
afterAll(async () => {
  await system?.stop()
  await rm(folder, { recursive: true, force: true })
})

const leadwire = (...args: string[]) => leadwireAs(system.token, ...args)
const leadwireAs = (token: string, ...args: string[]) => {
  const env = { ...process.env, LEADWIRE_URL: system.baseUrl, LEADWIRE_TOKEN: token }
  return promisify(execFile)(process.execPath, [MAIN, ...args], { env })
}

const HEADER = 'name,first_name,last_name,email,phone,postcode,referrer,status'
const REST = 'Ada,Lovelace,ada@example.com,020 7946 0123,SW1A 1AA,Website,open'

test('leads are imported from a file, the import is watched again, and the leads are exported to a file', async () => {
  const file = join(folder, 'leads.csv')
  await writeFile(file, [HEADER, `one,${REST}`, 'two,,,,,,,', `three,${REST}`].join('\n'))
  const done = await leadwire('import', file, '--json')
  const result = JSON.parse(done.stdout)
  expect(result).toMatchObject({ state: 'finished', rows_read: 3, rows_created: 2, rows_failed: 1 })
  const watched = await leadwire('import', '--watch', String(result.id), '--json')
  expect(JSON.parse(watched.stdout)).toEqual(result)
  expect(done.stderr).toContain(`leadwire import --watch ${result.id} --failed FILE`)
  const failed = join(folder, 'failed.csv')
  await leadwire('import', '--watch', String(result.id), '--failed', failed)
  expect((await readFile(failed, 'utf8')).split('\r\n')[1]).toMatch(/^2,.*,two,,,,,,,$/)
  const exported = join(folder, 'leads.ndjson')
  const headers = { authorization: `Bearer ${system.token}`, 'content-type': 'application/json' }
  const body = JSON.stringify({ name: 'Exports', scopes: ['manage:read'] })
  const made = await fetch(`${system.baseUrl}/manage/tokens`, { method: 'POST', headers, body })
  // Exports with a token that may not read the list of leads.
  await leadwireAs(((await made.json()) as { data: { token: string } }).data.token, 'export', exported)
  const names = (text: string) =>
    text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line).name)
  expect(names(await readFile(exported, 'utf8'))).toEqual(['one', 'three'])
  const csv = await leadwire('export', '--format', 'csv', '--created-from', '2999-01-01T00:00:00Z')
  expect(csv.stdout.split('\n')).toHaveLength(2)
})

test('matching leads are exported for Excel, and a file in Windows-1252 is imported', async () => {
  const file = join(folder, 'leads.txt')
  const header = HEADER.toUpperCase().replaceAll(',', ';')
  const cells = `Fenêtre;${REST.replaceAll(',', ';')};;`
  await writeFile(file, Buffer.from(`${header};Notes;Fax\n${cells}\n`, 'latin1'))
  await expect(leadwire('import', file)).rejects.toMatchObject({
    stderr: expect.stringContaining('file: Line 2, column 4: the byte 0xEA is not UTF-8.'),
  })
  const imported = await leadwire('import', file, '--encoding', 'cp1252')
  expect(imported.stdout).toContain('ignored_columns: Notes (did you mean description?), Fax\n')
  const filters = ['--filter', 'q=Ada', '--filter', 'status=open', '--filter', 'postcode=SW1A']
  const csv = async (...args: string[]) => (await leadwire('export', '--format', 'csv', ...args)).stdout
  await eventually(async () => expect(await csv('--bom', ...filters)).toMatch(/^\uFEFFid,.*Fenêtre/s))
  const sold = join(folder, 'sold.csv')
  expect(await csv('--filter', 'status=sold', sold)).toBe('')
  expect((await readFile(sold, 'utf8')).split('\n')).toHaveLength(2)
  await expect(csv('--filter', 'state=sold')).rejects.toMatchObject({
    stderr: expect.stringContaining('state: The parameter "state" is not allowed.'),
  })
  // The command must refuse these filters, because the API would export every lead.
  for (const filter of ['status', 'status=', 'status= ', '=sold', ''])
    await expect(csv('--filter', filter)).rejects.toMatchObject({
      stderr: expect.stringMatching(/--filter .*a name and a value, such as status=sold\./),
    })
})

test('a failed command prints the reason and exits with 1', async () => {
  const file = join(folder, 'empty.csv')
  await writeFile(file, '')
  await expect(leadwire('import', file)).rejects.toMatchObject({
    code: 1,
    stderr: expect.stringContaining('file: '),
  })
  await writeFile(file, 'name,name\n')
  await expect(leadwire('import', file)).rejects.toMatchObject({
    code: 1,
    stdout: expect.stringContaining('The header has the column name twice.'),
  })
  await expect(leadwire('import', '--watch', '999999')).rejects.toMatchObject({
    stderr: expect.stringContaining('There is no such import.'),
  })
  for (const time of ['soon', ''])
    await expect(leadwire('export', '--created-from', time)).rejects.toMatchObject({
      stderr: expect.stringMatching(/--created-from .*must be an instant/),
    })
})
