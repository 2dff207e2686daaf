import { api } from '../api'
import type { Lead } from '../leads'
import { Action } from '../parts/action'
import { Badge } from '../parts/badge'
import { formatNumber } from '../parts/format'
import { showNotice } from '../parts/notices'
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
  imports: 'files of unfinished imports',
  stream: 'events in the message stream',
  wal: 'the log of the database',
  backups: 'backups',
}

const COLUMNS: Column<Place>[] = [
  { name: 'Data', cell: ({ what }) => what.replaceAll('_', ' ') },
  { name: 'Store', cell: ({ store }) => STORES[store] },
  { name: 'Erased', cell: ({ count }) => (count === null ? 'not yet' : formatNumber(count)) },
  { name: 'When', cell: ({ erased_at: at }) => (at ? <Exactly at={at} /> : <span class="none">–</span>) },
]

/** The receipt of an erasure: the erased data, and the places where data remains for a time. */
export const Receipt = ({ erasure }: { erasure: Erasure }) => (
  <>
    <h2>
      {'Erasure '}
      {erasure.status === 'done' ? <Badge word="Done" tone="good" /> : <Badge word="Running" tone="warn" />}
    </h2>
    <Facts
      rows={[
        ['Requested', <Exactly at={erasure.requested_at} />],
        ['Finished', erasure.finished_at && <Exactly at={erasure.finished_at} />],
        ...erasure.remains.map(({ where, until }): [string, preact.ComponentChildren] => [
          `Remains in ${REMAINS[where]}`,
          until ? (
            <>
              until <Exactly at={until} />
            </>
          ) : (
            'until an unknown date (ask the operator)'
          ),
        ]),
      ]}
    />
    <Table caption="Erased data" columns={COLUMNS} rows={erasure.erased} getKey={({ what }) => what} />
  </>
)

/** The button that erases the personal data of a lead, with a dialog. */
export const EraseLead = ({
  lead,
  refresh,
}: {
  lead: Pick<Lead, 'name' | 'reference'>
  refresh: () => Promise<void>
}) => (
  <Action
    label="Erase"
    quiet
    danger
    run={async () => {
      const params = { path: { reference: lead.reference } }
      await api().POST('/manage/leads/{reference}/erase', { params })
      showNotice('The lead was erased. Copies in other places are erased within a minute.')
      await refresh()
    }}
    question={{
      title: `Erase ${lead.name}?`,
      yes: 'Erase permanently',
      content: (
        <>
          <p>This can't be undone. It permanently removes:</p>
          <ul>
            <li>the customer: name, company, e-mail, phone numbers, address</li>
            <li>the name, description and postcode of the lead, and the visitor's browser and IP address</li>
            <li>the texts of quotes, all files, and the values in the history</li>
            <li>the content of webhooks and notifications, and the responses of receivers</li>
          </ul>
          <p>Undelivered webhooks and notifications are cancelled. The lead can't be changed afterwards.</p>
          <p class="faint">
            Number, reference, status, value, prices and times are kept. Data that was already sent or
            exported is not affected.
          </p>
        </>
      ),
    }}
  />
)
