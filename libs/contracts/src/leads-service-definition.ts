import { BinaryReader } from '@bufbuild/protobuf/wire'
import { type Encoder, encodeMessage } from './encode-message'
import {
  CreateLead,
  CreateLeadsRequest,
  CreateLeadsResponse,
  LeadsServiceDefinition as Generated,
  GetLead,
  GetLeadsRequest,
  GetLeadsResponse,
  LeadPage,
  ListLeadsRequest,
  ListLeadsResponse,
} from './generated/leadwire/leads/v1/leads_service'

/** As an ArrayBuffer, because nice-grpc takes every message through `Buffer.from`, which copies anything else. */
const encodedOnce = <Type extends Encoder<never>>(generated: Type): Type => ({
  ...generated,
  encode: (message: never) => ({ finish: () => encodeMessage(generated, message).buffer }),
})

// The field of the items in every message that gathers some.
const ITEMS = 1
const LENGTH_DELIMITED = 2

const itemsIn = (bytes: Uint8Array): Uint8Array[] => {
  const reader = new BinaryReader(bytes)
  const items: Uint8Array[] = []
  while (reader.pos < reader.len) {
    const [field, type] = reader.tag()
    if (field === ITEMS && type === LENGTH_DELIMITED) items.push(reader.bytes())
    else reader.skip(type, field)
  }
  return items
}

interface Decoder<Message> {
  decode(bytes: Uint8Array): Message
}

/** A message of many requests, in which one that can't be read (a number beyond all doubles) does not spoil the others. */
const readOneByOne = <Item, Type extends Decoder<object>>(
  generated: Type,
  item: Decoder<Item> & { fromPartial(given: object): Item },
  wrap: (items: Item[]) => object,
): Type => {
  // No account has this id: the item is refused where the others are looked at.
  const unreadable = item.fromPartial({ accountId: -1 })
  const readOne = (bytes: Uint8Array): Item => {
    try {
      return item.decode(bytes)
    } catch {
      return unreadable
    }
  }
  return {
    ...generated,
    decode: (bytes: Uint8Array) => {
      try {
        return generated.decode(bytes)
      } catch {
        return wrap(itemsIn(bytes).map(readOne))
      }
    },
  }
}

const { getLeads, listLeads, createLeads } = Generated.methods

/** LeadsService with the answers of whole batches encoded without needless copies, and their requests read one by one. */
export const LeadsServiceDefinition = {
  ...Generated,
  methods: {
    ...Generated.methods,
    getLeads: {
      ...getLeads,
      requestType: readOneByOne(GetLeadsRequest, GetLead, (leads) => ({ leads })) as typeof GetLeadsRequest,
      responseType: encodedOnce(GetLeadsResponse) as typeof GetLeadsResponse,
    },
    listLeads: {
      ...listLeads,
      requestType: readOneByOne(ListLeadsRequest, LeadPage, (pages) => ({
        pages,
      })) as typeof ListLeadsRequest,
      responseType: encodedOnce(ListLeadsResponse) as typeof ListLeadsResponse,
    },
    createLeads: {
      ...createLeads,
      requestType: readOneByOne(CreateLeadsRequest, CreateLead, (leads) => ({
        leads,
      })) as typeof CreateLeadsRequest,
      responseType: encodedOnce(CreateLeadsResponse) as typeof CreateLeadsResponse,
    },
  },
} as const

export type LeadsServiceDefinition = typeof LeadsServiceDefinition
