type Answer = { status: number; headers: Record<string, string | string[] | undefined>; text: string }

const TITLES: Record<number, string> = {
  400: 'Bad Request',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not Found',
  405: 'Method Not Allowed',
  408: 'Request Timeout',
  409: 'Conflict',
  413: 'Content Too Large',
  415: 'Unsupported Media Type',
  417: 'Expectation Failed',
  422: 'Unprocessable Content',
  431: 'Request Header Fields Too Large',
}

// Matches stack traces, SQL, source locations, and names of internal components.
const INSIDES =
  /\bat (\S+ \()?\S*[:/]\d+:\d+|node_modules|\.[jt]s\b|\b(select|insert|update|delete) .*\b(from|into|set|where)\b|violates|constraint|syntax error|(leads|files|webhook)-service|grpc|protobuf|fastify|busboy|undici|\bajv\b|postgres|\[object |\bundefined\b|\bNaN\b/i
const CODES = /\b(FST|HPE|ERR)_|\bE[A-Z]{5,}\b/

type Problem = { detail: string; errors: Record<string, string[]> }

/**
 * Expects a complete problem document (RFC 9457) that reveals nothing internal. If `fields` is given, expects
 * errors for exactly these fields.
 */
export const expectProblem = (answer: Answer, status: number, fields?: string[]): Problem => {
  expect({ status: answer.status, text: answer.text }).toEqual({ status, text: expect.any(String) })
  expect(answer.headers['content-type']).toMatch(/^application\/problem\+json(;|$)/)
  const problem = JSON.parse(answer.text) as Problem & { request_id: string }
  const errors = status === 422 ? { errors: expect.any(Object) } : {}
  expect(problem).toEqual({
    type: expect.stringMatching(/^\S+$/),
    title: TITLES[status],
    status,
    detail: expect.stringMatching(/^[A-Z].*\.$/),
    request_id: expect.stringMatching(/^\S+$/),
    ...errors,
  })
  expect(answer.headers['x-request-id']).toBe(problem.request_id)
  if (status === 401) expect(answer.headers['www-authenticate']).toMatch(/^Bearer/)
  for (const messages of Object.values(problem.errors ?? {})) {
    expect(messages.length).toBeGreaterThan(0)
    for (const message of messages) expect(message).toEqual(expect.stringMatching(/^\S.*\S$/su))
  }
  if (fields) expect(Object.keys(problem.errors).sort()).toEqual([...fields].sort())
  expect(answer.text).not.toMatch(INSIDES)
  expect(answer.text).not.toMatch(CODES)
  return problem
}

/** Expects any status 4xx with a problem document. */
export const expectRefusal = (answer: Answer): void => {
  expect({ blamesTheClient: answer.status >= 400 && answer.status < 500, ...answer }).toMatchObject({
    blamesTheClient: true,
  })
  expectProblem(answer, answer.status)
}
