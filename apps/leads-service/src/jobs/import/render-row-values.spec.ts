import { renderRowValues } from './render-row-values'

const CSV = { format: 'csv', columns: ['First Name', '', 'import_errors', 'E-Mail'] }
const NDJSON = { format: 'ndjson', columns: [] }

const render = (header: typeof CSV, row: unknown) =>
  JSON.parse(renderRowValues(header, row === null ? null : JSON.stringify(row)))

test('a line keeps its numbers as they were sent', () => {
  const line = '{"id":12345678901234567890,"value":1e400}'
  expect(renderRowValues(NDJSON, JSON.stringify(` ${line}`))).toBe(line)
})

test.each([
  [CSV, ['Ada', 'x', 'No email.', 'ada@'], { 'First Name': 'Ada', 'column 2': 'x', 'E-Mail': 'ada@' }],
  [CSV, ['Ada', '', '', '', 'y', ''], { 'First Name': 'Ada', 'E-Mail': '', 'column 5': 'y' }],
  [CSV, ['Ada'], { 'First Name': 'Ada' }],
  [
    { format: 'csv', columns: ['a', 'a', 'a'] },
    ['1', '2', '3'],
    { a: '1', 'column 2': '2', 'column 3': '3' },
  ],
  [CSV, null, {}],
  [
    NDJSON,
    '{"email":"ada@","value":1,"customer":{"phone":null}}',
    {
      email: 'ada@',
      value: 1,
      customer: { phone: null },
    },
  ],
  [NDJSON, '{"email":', {}],
  [NDJSON, '["ada@"]', {}],
  [NDJSON, 'null', {}],
  [NDJSON, null, {}],
])('the values of a row of %j that is stored as %j are %j', (header, row, values) => {
  expect(render(header, row)).toEqual(values)
})
