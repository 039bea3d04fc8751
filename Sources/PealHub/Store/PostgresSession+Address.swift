#if PostgreSQL
    import PealPostgres

    extension PostgresSession.Settings {
        /// The settings that an address has: libpq's own, and beside them, after `?`, `peal_prepare=off`, for a pooler that cannot keep
        /// prepared statements.
        ///
        /// - Throws: `failed`, without any of the text.
        init(address: String) throws(HubStoreError) {
            var text = address
            var prepares = true
            for part in ["peal_prepare=off", "peal_prepare=on"] where text.contains(part) {
                prepares = part.hasSuffix("on")
                for whole in ["&" + part, part + "&", "?" + part, part] { text = text.replacing(whole, with: "") }
            }
            do throws(PostgresError) {
                var options = PostgresConnection.Options(try PostgresAddress(text))
                options.prepares = prepares
                self.init(options)
            } catch {
                throw HubStoreError(postgres: error)
            }
        }
    }
#endif
