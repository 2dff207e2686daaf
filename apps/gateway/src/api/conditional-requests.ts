import { type TObject, Type } from '@sinclair/typebox'
import { type Headers, REQUEST_ID } from './response-headers'

/** What an operation has to do with the entity tag of its record: it reads it, makes a new one, or changes it. */
export type EtagUse = 'read' | 'new' | 'change'

const EXAMPLE = '"3-264574550"'

const header = (description: string) => Type.Optional(Type.String({ description, examples: [EXAMPLE] }))

/** The headers of a request that say on what it depends. A create depends on nothing. */
export const CONDITION_HEADERS: Record<EtagUse, { headers?: TObject }> = {
  read: {
    headers: Type.Object({
      'If-None-Match': header(
        'ETags of what you have. While it is the same, the answer is 304 without a body.',
      ),
    }),
  },
  change: {
    headers: Type.Object({
      'If-Match': header(
        'ETags one of which the record must still have. Otherwise nothing is changed, and the answer is 412.',
      ),
    }),
  },
  new: {},
}

/** The header of a response. */
export const ETAG_HEADER: Headers = {
  ETag: Type.String({
    description: 'Names the state of what is answered: another one as soon as anything of it changes.',
    examples: [EXAMPLE],
  }),
}

export const NOT_MODIFIED = {
  type: 'null',
  description: 'It is what If-None-Match names. There is no body.',
  headers: { ...REQUEST_ID, ...ETAG_HEADER },
}
