import { useEffect, useRef } from 'preact/hooks'
import { useLocation } from 'wouter-preact'
import { Field, type FieldErrors, Options } from './form'
import { useQuery } from './pager'

/** A query parameter of a list: with options a choice, else a text. */
export interface Filter {
  name: string
  label: string
  options?: [value: string, text: string][]
  /** The choice of none. */
  none?: string
  /** Of a text, as an input has it. */
  type?: string
  help?: string
}

/** A form whose fields are the filters in the address. A choice filters at once, a text when it is sent. */
export const Filters = ({ filters, errors }: { filters: Filter[]; errors?: FieldErrors }) => {
  const [query, changed] = useQuery()
  const [, navigate] = useLocation()
  const form = useRef<HTMLFormElement>(null)
  // Another address means other values. What the reader types in between stays.
  useEffect(() => {
    for (const field of form.current!.querySelectorAll<HTMLInputElement | HTMLSelectElement>('[name]'))
      field.value = query.get(field.name) ?? ''
  }, [String(query)])
  const apply = () => {
    const fields = [...new FormData(form.current!)].map(([name, value]) => [name, String(value).trim()])
    navigate(changed(Object.fromEntries(fields)))
  }
  const submit = (event: SubmitEvent) => {
    event.preventDefault()
    apply()
  }
  const isFiltered = filters.some(({ name }) => query.get(name))
  const none = Object.fromEntries(filters.map(({ name }) => [name, '']))
  return (
    <search>
      <form ref={form} class="fields card padded" onSubmit={submit}>
        {filters.map(({ name, label, options, none: unfiltered = 'All', type, help }) => (
          <Field key={name} name={name} label={label} help={help} errors={errors}>
            {(attributes) =>
              options ? (
                <select {...attributes} onChange={apply}>
                  <Options options={[['', unfiltered], ...options]} chosen={query.get(name)} />
                </select>
              ) : (
                <input type={type} {...attributes} autocomplete="off" spellcheck={false} />
              )
            }
          </Field>
        ))}
        <button type="submit">Filter</button>
        {isFiltered && (
          <button type="button" class="quiet" onClick={() => navigate(changed(none))}>
            Clear
          </button>
        )}
      </form>
    </search>
  )
}
