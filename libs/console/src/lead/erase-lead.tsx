import { api } from '../api'
import type { Lead } from '../leads'
import { Action } from '../parts/action'
import { Badge } from '../parts/badge'
import { number } from '../parts/format'
import { say } from '../parts/notices'
import { Facts } from '../parts/page'
import { type Column, Table } from '../parts/table'
import { Exactly } from '../parts/time'
import type { Erasure } from './load-lead'

type Place = Erasure['erased'][number]

const STORES: Record<Place['store'], string> = {
  postgresql: 'Database',
  object_store: 'File store',
  jetstream: 'Message stream',
}

const REMAINS: Record<Erasure['remains'][number]['where'], string> = {
  imports: 'files of imports that are not done',
  stream: 'events in the message stream',
  wal: 'the log of the database',
  backups: 'backups',
}

const COLUMNS: Column<Place>[] = [
  { name: 'What', cell: ({ what }) => what.replaceAll('_', ' ') },
  { name: 'Where', cell: ({ store }) => STORES[store] },
  { name: 'Erased', cell: ({ count }) => (count === null ? 'not yet' : number(count)) },
  { name: 'When', cell: ({ erased_at: at }) => (at ? <Exactly at={at} /> : <span class="none">–</span>) },
]

/** The receipt of an erasure. */
export const Receipt = ({ erasure }: { erasure: Erasure }) => (
  <>
    <h2>
      {'Erasure '}
      {erasure.status === 'done' ? <Badge word="Done" tone="good" /> : <Badge word="Running" tone="warn" />}
    </h2>
    <Facts
      rows={[
        ['Asked for', <Exactly at={erasure.requested_at} />],
        ['Done', erasure.finished_at && <Exactly at={erasure.finished_at} />],
        ...erasure.remains.map(({ where, until }): [string, preact.ComponentChildren] => [
          `Stays in ${REMAINS[where]}`,
          until ? (
            <>
              until <Exactly at={until} />
            </>
          ) : (
            'until they are deleted; the operator knows when'
          ),
        ]),
      ]}
    />
    <Table caption="What was erased" columns={COLUMNS} rows={erasure.erased} keyOf={({ what }) => what} />
  </>
)

/** Erases the personal data of a lead, after a question. */
export const EraseLead = ({ lead, refresh }: { lead: Lead; refresh: () => Promise<void> }) => (
  <Action
    label="Erase"
    quiet
    danger
    run={async () => {
      const params = { path: { reference: lead.reference } }
      await api().POST('/manage/leads/{reference}/erase', { params })
      say('The lead is erased. What is left elsewhere follows within a minute.')
      await refresh()
    }}
    question={{
      title: `Erase ${lead.name}?`,
      yes: 'Erase for good',
      content: (
        <>
          <p>It can't be undone. Removed for good:</p>
          <ul>
            <li>the customer: name, company, e-mail, phone numbers, address</li>
            <li>name, description, postcode and the visitor's browser and address</li>
            <li>texts of quotes, all files, and what the history says of changes</li>
            <li>what webhooks and notifications contained, and what receivers answered</li>
          </ul>
          <p>
            Webhooks and notifications that are not delivered yet are cancelled, and nothing can be changed.
          </p>
          <p class="faint">
            Number, reference, status, value, prices and times stay. What was already sent or exported is not
            reached.
          </p>
        </>
      ),
    }}
  />
)
