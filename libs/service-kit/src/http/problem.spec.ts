import { ERROR_CODES, ServiceError } from '../errors/service-error'
import { problemJson, readProblemError, toProblem } from './problem'

const crossed = (error: unknown) => readProblemError(problemJson(toProblem(error), 'id'))

test.each(ERROR_CODES)('%s crosses HTTP as what it is', (code) => {
  expect(crossed(new ServiceError(code, 'What happened.'))).toMatchObject({ code })
})

test('a detail and invalid fields cross, a cause does not', () => {
  expect(crossed(new ServiceError('not_found', 'There is no such file.')).detail).toBe(
    'There is no such file.',
  )
  const fieldErrors = { file: ['The file must not be empty.'] }
  expect(crossed(ServiceError.invalid(fieldErrors)).fieldErrors).toEqual(fieldErrors)
  const inside = crossed(new ServiceError('internal', 'the inside story', { cause: new Error('of it') }))
  expect([inside.detail, inside.cause]).toEqual([
    expect.stringContaining('Something went wrong on our side.'),
    undefined,
  ])
})

test.each([
  '',
  'null',
  '[]',
  '{"type":"about:blank"}',
  '<html>',
  '{"type":"/problems#x"}',
])('what is no problem of ours is internal: %s', (body) =>
  expect(readProblemError(body)).toMatchObject({ code: 'internal' }))
