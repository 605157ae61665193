# Where these cannot be pulled, name others: docker build --build-arg BASE_IMAGE=…
ARG GO_IMAGE=golang:1.26-bookworm
ARG BASE_IMAGE=debian:bookworm-slim

FROM ${GO_IMAGE} AS build
WORKDIR /src
COPY . .
RUN CGO_ENABLED=0 go build -trimpath -ldflags "-s -w" -o /handrail ./cmd/handrail

FROM ${BASE_IMAGE}
RUN command -v git && command -v bwrap || \
    (apt-get update && apt-get install -y --no-install-recommends git ca-certificates bubblewrap && rm -rf /var/lib/apt/lists/*)
RUN useradd --system --uid 65532 --create-home --home-dir /var/lib/handrail handrail && \
    install -d -o handrail -g handrail /var/lib/handrail/data /var/lib/handrail/data/work /run/handrail
COPY --from=build /handrail /usr/local/bin/handrail
USER handrail
WORKDIR /var/lib/handrail
EXPOSE 8080
HEALTHCHECK --interval=30s --timeout=5s CMD ["handrail", "serve", "--check"]
ENTRYPOINT ["handrail"]
CMD ["serve"]
