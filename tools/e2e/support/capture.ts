import type { Answer, RequestOptions } from './client'
import { LEAD, type Tenant } from './stage'

export const ORIGIN = 'https://www.example.com'
export const RETURN_URL = 'https://www.example.com/thanks?from=a%20form&%E9'

const { name: _name, referrer: _referrer, status: _status, ...PERSON } = LEAD

/** The required fields of a form. */
export const FORM: Record<string, string> = PERSON

export type Captured = { reference: string }

/** Creates a publishable token. Returns functions that send forms and leads with it. */
export const publish = async (tenant: Tenant, fields: object = {}) => {
  const { token, id } = await tenant.newToken({
    publishable: true,
    origins: [ORIGIN],
    scopes: undefined,
    ...fields,
  })
  const ask = <T>(method: string, path: string, options: RequestOptions): Promise<Answer<T>> =>
    tenant.client.request<T>(method, path, options)
  return {
    token,
    id,
    send: (options: RequestOptions, origin: string | undefined = ORIGIN) =>
      ask('POST', `/capture/${token}`, {
        ...options,
        token: '',
        headers: { ...(origin && { origin }), ...options.headers },
      }),
    create: (json: object, headers: Record<string, string> = { origin: ORIGIN }) =>
      ask<{ data: Captured }>('POST', '/leads', { token, json, headers }),
  }
}

/** Returns the lead reference from the redirect that follows a form. */
export const readReference = ({ status, headers, text }: Answer): string => {
  expect([status, text]).toEqual([303, ''])
  return new URL(String(headers['location'])).searchParams.get('reference') ?? ''
}
