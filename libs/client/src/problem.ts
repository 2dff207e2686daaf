import type { components } from './generated/schema'

/** An error response of the API (RFC 9457), or `unreachable` without a response. */
export class LeadwireProblem extends Error {
  override readonly name = 'LeadwireProblem'
  /** The kind: the last part of the problem's type, such as `invalid` or `not-found`; /problems lists them. */
  readonly kind: string
  /** The HTTP status; 0 without a response. */
  readonly status: number
  readonly title: string
  /** Quote it when you ask the operator about the request. */
  readonly requestId: string | undefined
  /** With status 422: what is wrong with each invalid field, by its dotted path. */
  readonly errors: Record<string, string[]>
  /** With status 410 of `GET /manage/events`: the cursor to continue with. */
  readonly oldestCursor: string | undefined

  constructor(status: number, body: Partial<components['schemas']['Problem']>, options?: ErrorOptions) {
    super(body.detail ?? `The answer has the status ${status}.`, options)
    this.kind = String(body.type).split('#')[1] ?? 'unknown'
    this.status = status
    this.title = body.title ?? `Status ${status}`
    this.requestId = body.request_id
    this.errors = body.errors ?? {}
    this.oldestCursor = body.oldest_cursor
  }
}

export const problemOf = async (response: Response): Promise<LeadwireProblem> => {
  const body: unknown = await response.json().catch(() => undefined)
  return new LeadwireProblem(response.status, typeof body === 'object' && body !== null ? body : {})
}
