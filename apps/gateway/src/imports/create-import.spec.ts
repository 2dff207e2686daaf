import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { type RunningGateway, startGateway } from '../gateway.fixture'

let gateway: RunningGateway
let url: string
let stored: string | undefined
let format: string | undefined
let fileName: string | undefined

beforeAll(async () => {
  gateway = await startGateway({
    files: async (request, response) => {
      // Reading fails if the gateway refuses the upload, because the gateway then aborts its request.
      stored = await text(request).catch(() => undefined)
      if (stored === undefined) return
      const file = { key: 'imports/1.txt', size: stored.length, content_type: 'text/plain', sha256: '' }
      response.end(JSON.stringify(file))
    },
    imports: {
      createImport: async (request) => {
        format = request.format
        fileName = request.fileName
        return { body: Buffer.from('{"data":{}}') }
      },
    },
  })
  await gateway.app.listen({ host: '127.0.0.1', port: 0 })
  url = `http://127.0.0.1:${(gateway.app.server.address() as AddressInfo).port}/manage/imports`
})
afterAll(() => gateway.stop())
beforeEach(() => {
  stored = undefined
  format = undefined
  fileName = undefined
})

const post = async (body: string | Buffer, type: string, query = '') => {
  const headers = { authorization: 'Bearer all', 'content-type': type }
  const response = await fetch(url + query, { method: 'POST', headers, body: Buffer.from(body) })
  return { status: response.status, json: (await response.json()) as { errors?: Record<string, string[]> } }
}

test.each([
  ['text/csv', 'csv'],
  ['Text/CSV; header=present', 'csv'],
  ['application/vnd.ms-excel', 'csv'],
  ['application/csv', 'csv'],
  ['text/x-csv', 'csv'],
  ['text/comma-separated-values', 'csv'],
  ['text/tab-separated-values; charset=utf-8', 'csv'],
  ['application/x-ndjson', 'ndjson'],
  ['application/ndjson', 'ndjson'],
  ['application/jsonl; charset=utf-8', 'ndjson'],
  ['application/x-jsonlines', 'ndjson'],
])('a file of %s is read as %s', async (type, expected) => {
  expect(await post('Ada', type)).toMatchObject({ status: 202 })
  expect({ format, stored }).toEqual({ format: expected, stored: 'Ada' })
})

test.each([
  ['cp1252', '80a39f', '€£Ÿ'],
  ['latin1', '80a39f', '€£Ÿ'],
  ['ISO-8859-1', 'e9', 'é'],
  ['us-ascii', '4164618e', 'AdaŽ'],
  ['"Windows-1252"', '93a394', '“£”'],
  ['utf8', 'c3a9', 'é'],
  ['utf-16', 'e9000a00', 'é\n'],
  ['utf-16be', '00e9000a', 'é\n'],
  ['unicode', 'e9000a00', 'é\n'],
  ['latin2', 'b1a3', 'ąŁ'],
  ['windows-1250', '9a8a', 'šŠ'],
  ['macintosh', '8e', 'é'],
  ['shift_jis', '82a0410a', 'あA\n'],
  ['gb18030', '8130813041', '\x80A'],
  ['latin1', 'efbbbfc3a9', 'é'],
  ['utf-16', 'feff00e9', 'é'],
])('text in %s is stored as UTF-8', async (charset, bytes, expected) => {
  expect(await post(Buffer.from(bytes, 'hex'), `text/csv; charset=${charset}`)).toMatchObject({ status: 202 })
  expect(stored).toBe(expected)
})

test.each([
  ['an invalid byte', 'text/csv; charset=shift_jis', '41410a41ff41', 'Line 2, column 2: the byte 0xFF'],
  ['an incomplete end', 'text/csv; charset=shift_jis', '410a82', 'Line 2, column 1: the byte 0x82'],
  ['half a character', 'text/csv; charset=utf-16', '41000a0000d8', 'Line 2, column 1: the byte 0x00'],
  [
    'Windows-1252',
    'application/vnd.ms-excel',
    '41a3',
    'name it in the Content-Type, such as text/csv; charset=windows',
  ],
  [
    'an old workbook',
    'application/vnd.ms-excel',
    'd0cf11e0a1b11ae1',
    'a workbook of Excel 97. Save it as CSV',
  ],
  [
    'an old workbook',
    'text/csv; charset=cp1252',
    'd0cf11e0a1b11ae1',
    'a workbook of Excel 97. Save it as CSV',
  ],
])('%s in %s is refused with its place or what to do', async (_what, type, bytes, message) => {
  const refused = await post(Buffer.from(bytes, 'hex'), type)
  expect(refused).toMatchObject({ status: 422 })
  expect(refused.json.errors?.['file']).toEqual([expect.stringContaining(message)])
})

test.each([
  'text/csv; charset=none-such',
  'text/csv; charset=utf-7',
  'text/csv; charset=iso-2022-jp',
  'text/plain',
  'application/json',
  'text/csvx',
])('%s is refused', async (type) => {
  expect(await post('Ada', type)).toMatchObject({ status: 415 })
  expect(stored).toBeUndefined()
})

test.each([
  ['?file_name=leads%20of%20June.csv', 'leads of June.csv'],
  [`?file_name=${'é'.repeat(255)}`, 'é'.repeat(255)],
  ['?file_name=%20', undefined],
  ['', undefined],
])('the import of %j has the file name %j', async (query, expected) => {
  expect(await post('Ada', 'text/csv', query)).toMatchObject({ status: 202 })
  expect(fileName).toBe(expected)
})

test.each([
  `?file_name=${'x'.repeat(256)}`,
  '?file_name=a%00b',
])('the file name of %s is refused, and no file is stored', async (query) => {
  const refused = await post('Ada', 'text/csv', query)
  expect(refused).toMatchObject({ status: 422, json: { errors: { file_name: [expect.any(String)] } } })
  expect(stored).toBeUndefined()
})
