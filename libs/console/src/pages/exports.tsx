import { exportLeads, leadFilters } from '../leads'
import { Action } from '../parts/action'
import { Filters } from '../parts/filters'
import { useLive } from '../parts/live'
import { showNotice } from '../parts/notices'
import { Failure, Loading, Title } from '../parts/page'
import { useQuery } from '../parts/pager'
import { saveFile } from '../parts/save-file'
import { listUsers } from '../users'

const FILES: { label: string; name: string; options: Record<string, string> }[] = [
  { label: 'Download CSV', name: 'leads.csv', options: { format: 'csv' } },
  { label: 'Download CSV for Excel', name: 'leads.csv', options: { format: 'csv', bom: 'true' } },
  { label: 'Download NDJSON', name: 'leads.ndjson', options: { format: 'ndjson' } },
]

/** /exports: downloads of the leads that match the filters. */
export const Exports = () => {
  const [query] = useQuery()
  const { data: users, problem, refresh } = useLive('users', listUsers)
  if (!users) return problem ? <Failure problem={problem} again={refresh} /> : <Loading />
  return (
    <>
      <Title title="Exports" />
      <p class="faint">
        All leads that match the filters, with customer and quotes, oldest first. The file can be imported
        again.
      </p>
      <Filters filters={leadFilters(users)} />
      <div class="actions">
        {FILES.map(({ label, name, options }, index) => (
          <Action
            key={label}
            label={label}
            quiet={index > 0}
            run={async () => {
              await saveFile(name, () => exportLeads({ ...Object.fromEntries(query), ...options }))
              showNotice('Downloaded.')
            }}
          />
        ))}
      </div>
    </>
  )
}
