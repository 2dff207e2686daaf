/** An e-mail address that breaks after its @ if the line is too short. */
export const Email = ({ address }: { address: string }) => {
  const domain = address.lastIndexOf('@') + 1
  return (
    <span class="wrap">
      {address.slice(0, domain)}
      <wbr />
      {address.slice(domain)}
    </span>
  )
}
