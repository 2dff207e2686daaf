import { type RunningGateway, retrieveAllBut, startGateway } from '../gateway.fixture'

const VALUES: Record<string, string> = { '{id}': '1', '{reference}': '0b0b4a3e-6f0a-4f0e-9c53-2f6f5a3f7f10' }

interface Parameter {
  in: string
  name: string
}

type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE'

let gateway: RunningGateway
let operations: { method: Method; url: string; names: string[] }[]

beforeAll(async () => {
  const listEntries = async () => ({ items: Buffer.from('[{"id":1}]'), nextBefore: undefined })
  gateway = await startGateway({
    leads: {
      retrieveLeads: retrieveAllBut(),
      listAppointments: listEntries,
      listCallbacks: listEntries,
    },
  })
  const { paths } = (await gateway.send({ url: '/openapi.json' })).json()
  operations = Object.entries<Record<string, { parameters?: Parameter[] }>>(paths).flatMap(
    ([path, methods]) =>
      Object.entries(methods).map(([method, { parameters = [] }]) => ({
        method: method.toUpperCase() as Method,
        url: path.replace(/{\w+}/g, (name) => VALUES[name]!),
        names: parameters.filter((parameter) => parameter.in === 'query').map(({ name }) => name),
      })),
  )
})
afterAll(() => gateway.stop())

/** Returns the errors of a refused query by parameter. For any status except 422, returns the status. */
const fetchErrors = async (method: Method, url: string) => {
  const response = await gateway.send({ method, url })
  return response.statusCode === 422 ? response.json().errors : response.statusCode
}

test('every operation under /manage refuses a parameter that it does not know', async () => {
  const managed = operations.filter(({ url }) => url.startsWith('/manage'))
  expect(managed.length).toBeGreaterThan(30)
  for (const { method, url, names } of managed)
    expect([method, url, await fetchErrors(method, `${url}?_=1`)]).toEqual([
      method,
      url,
      { _: [`The parameter "_" is not allowed. Allowed parameters: ${names.join(', ') || 'none'}.`] },
    ])
})

test('every parameter that is given twice is refused, but the page of the interface', async () => {
  const all = operations.flatMap(({ method, url, names }) => names.map((name) => ({ method, url, name })))
  expect(all.length).toBeGreaterThan(20)
  for (const { method, url, name } of all) {
    const errors = await fetchErrors(method, `${url}?${name}=&${name}=`)
    if (url === '/leads' && name === 'page') expect(errors).toBe(500)
    else expect([url, errors]).toEqual([url, { [name]: [`Send the parameter ${name} only once.`] }])
  }
})
