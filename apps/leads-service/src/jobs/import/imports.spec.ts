import type { ImportClaim } from '@leadwire/contracts'
import {
  newAccount,
  newItem,
  type RunningLeadsService,
  readOutcomes,
  startLeadsService,
} from '../../leads-service.fixture'

let service: RunningLeadsService
beforeAll(async () => {
  service = await startLeadsService()
})
afterAll(() => service.stop())

const readData = <Data>({ body }: { body: Uint8Array }): Data => JSON.parse(Buffer.from(body).toString()).data

const newImport = async (accountId: number, fileName?: string) =>
  readData<{ id: number; file_name: string | null }>(
    await service.imports.createImport({
      accountId,
      format: 'csv',
      webhooks: false,
      visitor: { userAgent: '', ip: '', test: false },
      key: `imports/${accountId}-${fileName}.txt`,
      fileSize: 9,
      fileName,
    }),
  )

/** Claims imports until one of the account is claimed. */
const claimImportOf = async (accountId: number): Promise<ImportClaim> => {
  for (;;) {
    const { import: claimed } = await service.imports.claimImport({})
    if (!claimed) throw new Error('the account has no import to claim')
    if (claimed.claim!.accountId === accountId) return claimed.claim!
  }
}

test('an import shows the name of its file, or null', async () => {
  const { accountId } = await newAccount(service)
  const named = await newImport(accountId, 'leads.csv')
  const unnamed = await newImport(accountId)
  const { items } = await service.imports.listImports({ accountId })
  expect(JSON.parse(items.toString())).toMatchObject([
    { id: unnamed.id, file_name: null },
    { id: named.id, file_name: 'leads.csv' },
  ])
})

test('an invalid row with its values is small, however long the names of the columns are', async () => {
  const { accountId } = await newAccount(service)
  const { id: importId } = await newImport(accountId)
  const columns = Array.from({ length: 100 }, (_, index) => `${index}`.padStart(200, 'x'))
  const source = JSON.stringify(columns.map(() => 'x'))
  await service.imports.advanceImport({
    claim: await claimImportOf(accountId),
    from: 0,
    to: 9,
    columns,
    delimiter: ',',
    ignoredColumns: [],
    rows: [{ row: { $case: 'errors', value: '{"email":["The email is wrong."]}' }, source }],
    finished: true,
  })
  const { items } = await service.imports.listImportErrors({ accountId, importId })
  expect(JSON.parse(items.toString())).toEqual([
    { row: 1, errors: { email: ['The email is wrong.'] }, values: {} },
  ])
})

test('an invalid row has its values until any lead of the account is erased', async () => {
  const { accountId } = await newAccount(service)
  const { id: importId } = await newImport(accountId)
  const claim = await claimImportOf(accountId)
  const failed = (cells: string[]) => ({
    row: { $case: 'errors' as const, value: '{"email":["The email is wrong."]}' },
    source: JSON.stringify(cells),
  })
  await service.imports.advanceImport({
    claim,
    from: 0,
    to: 9,
    columns: ['Name', 'E-mail'],
    delimiter: ',',
    ignoredColumns: [],
    rows: [failed(['Ada', 'ada@']), failed(['x'.repeat(20_000), ''])],
    finished: true,
  })
  const listValues = async () => {
    const { items } = await service.imports.listImportErrors({ accountId, importId })
    return JSON.parse(items.toString()).map(({ values }: { values: object }) => values)
  }
  expect(await listValues()).toEqual([{ Name: 'Ada', 'E-mail': 'ada@' }, {}])

  const [{ reference }] = readOutcomes(await service.leads.createLeads({ leads: [newItem(accountId)] }))
  await service.leads.eraseLead({ accountId, reference })
  expect(await listValues()).toEqual([{}, {}])
})
