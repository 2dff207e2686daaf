import type { Context } from '../context'
import { createRequest } from './requests'

/** The body of a real webhook, out of the answer to a create: they differ in nothing but what a quote's item shows. */
export async function webhookBody(context: Context): Promise<string> {
  const account = await context.quoted()
  const { path, headers, body } = createRequest(account)
  const answer = await fetch(`${context.stack.dev.base_url}${path}`, {
    method: 'POST',
    headers: headers!,
    body: body as string,
  })
  return answer.text()
}
